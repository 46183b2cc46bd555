// Where a message is written. What is typed stays in the browser until it is sent or thrown away.

import { CallError } from "../api/calls.js";
import { people } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { View } from "../lib/view.js";
import { draftOf, keepDraft } from "../parts/drafts.js";
import { notify } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { explain, text } from "../text/index.js";
import "../find/picker.js";
import "../parts/names.js";
import { attachmentOf, groups, send } from "./box.js";

/** @typedef {import("./box.js").Priority} Priority */

/**
 * @typedef {object} Letter
 * @property {string[]} recipients
 * @property {string} subject
 * @property {string} body
 * @property {Priority} priority
 * @property {{ id: string, title: string }[]} attachments
 */

/** @type {Letter} */
export const EMPTY = { recipients: [], subject: "", body: "", priority: "normal", attachments: [] };

/** @type {Priority[]} */
const PRIORITIES = ["low", "normal", "high"];

/** The largest number of objects of a message, which the server allows unless it is configured otherwise. */
const MOST = 100;

class MessageLetter extends View {
  /** What the draft is kept under. */
  draft = "";
  /** What a new one begins with. @type {Letter} */
  first = EMPTY;
  /** Called when it is sent or thrown away. */
  close = () => {};

  #letter = EMPTY;
  #fault = "";
  #isBusy = false;
  /** @type {string[]} */
  #groups = [];

  begin() {
    this.#letter = { ...this.first, ...draftOf(this.draft) };
    // Without their names, groups can still be typed.
    groups().then((names) => ((this.#groups = names), this.changed()), () => {});
    requestAnimationFrame(() => {
      const area = this.querySelector("textarea");
      if (this.#letter.recipients.length === 0) this.querySelector("input")?.focus();
      else if (area) area.focus(), area.setSelectionRange(0, 0);
    });
  }

  #known = () => [
    ...people().map(([name, label]) => ({ name, label })),
    ...this.#groups.map((name) => ({ name, label: text().group })),
  ];

  template() {
    const { recipients, subject, body, priority, attachments } = this.#letter;
    return html`
      <section class="letter" aria-label=${text().newMessage}>
        <form id="letter" @submit=${(/** @type {Event} */ event) => this.#submit(event)}
          @input=${(/** @type {Event} */ event) => this.#typed(event)}
          @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
          <h2>${text().newMessage}</h2>
          <div class="field"><span aria-hidden="true">${text().recipients}</span>
            <name-list .names=${recipients} .label=${text().recipients} .known=${this.#known}
              .change=${(/** @type {string[]} */ names) => this.#set({ recipients: names })}></name-list></div>
          <label>${text().subject}<input name="subject" maxlength="300" autocomplete="off" .value=${subject}></label>
          <label>${text().message}<textarea name="body" rows="9" .value=${body}></textarea></label>
          <label class="priority">${text().priority}<select name="priority">
            ${PRIORITIES.map((one) => html`<option value=${one} ?selected=${one === priority}>${text().priorities[one]}</option>`)}</select></label>
        </form>
        <h3>${text().attachments}</h3>
        <ul class="attachments">${keyed(attachments, ({ id }) => id, ({ id, title }) => html`
          <li><a href=${`#/object/${id}`}><bdi>${title}</bdi></a>
            <button type="button" class="plain" aria-label=${text().removeName(title)} @click=${() => this.#drop(id)}>${icon("close")}</button></li>`)}</ul>
        <object-picker .label=${text().attach} .verb=${text().attachVerb} .pick=${this.#attach}></object-picker>
        <p class="fault" role="alert">${this.#fault}</p>
        <footer>
          <button type="button" class="plain" @click=${() => this.#done()}>${text().throwAway}</button>
          <button class="primary" form="letter" ?disabled=${this.#isBusy}>${text().send}</button>
        </footer>
      </section>`;
  }

  /** @param {Event} event */
  #typed(event) {
    const { name, value } = /** @type {HTMLInputElement} */ (event.target);
    if (name) this.#set({ [name]: value });
  }

  /** @param {Partial<Letter>} changed */
  #set(changed) {
    this.#letter = { ...this.#letter, ...changed };
    const isNew = JSON.stringify(this.#letter) === JSON.stringify({ ...EMPTY, ...this.first });
    keepDraft(this.draft, isNew ? null : this.#letter);
    this.changed();
  }

  #attach = async (/** @type {string} */ source) => {
    const found = await attachmentOf(source);
    const { attachments } = this.#letter;
    if (attachments.length >= MOST) throw new Error(text().tooManyAttachments(MOST));
    if (!attachments.some(({ id }) => id === found.id)) this.#set({ attachments: [...attachments, found] });
  };

  /** @param {string} id */
  #drop(id) {
    this.#set({ attachments: this.#letter.attachments.filter((one) => one.id !== id) });
    /** @type {HTMLElement | null} */ (this.querySelector("object-picker input"))?.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.querySelector("form")?.requestSubmit();
  }

  #done() {
    keepDraft(this.draft, null);
    this.close();
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    const { attachments, ...letter } = this.#letter;
    if (letter.recipients.length === 0) {
      this.#fault = text().noRecipients;
      this.changed();
      return;
    }
    this.#isBusy = true;
    this.#fault = "";
    this.changed();
    try {
      await send({ ...letter, subject: letter.subject.trim(), attachments: attachments.map(({ id }) => id) });
      notify(text().wasSent);
      this.#done();
    } catch (error) {
      this.#fault = faultOf(error);
    } finally {
      this.#isBusy = false;
      this.changed();
    }
  }
}

/** @param {unknown} error */
function faultOf(error) {
  const unknown = error instanceof CallError ? error.details.unknown : undefined;
  return Array.isArray(unknown) ? text().unknownRecipients(unknown.join(", ")) : explain(error);
}

customElements.define("message-letter", MessageLetter);
