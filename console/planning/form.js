// A form in a dialog for something that others may change at the same time. Only what was changed here is sent. What
// others change meanwhile is shown, and taken if the person wants it.

import { fullName, people } from "../api/people.js";
import { html } from "../lib/html.js";
import { View } from "../lib/view.js";
import { draftOf, keepDraft } from "../parts/drafts.js";
import { explain, text } from "../text/index.js";
import "../parts/names.js";

/** @typedef {Record<string, string | string[]>} Values */

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {"text" | "long" | "names" | "moment" | "day"} kind
 * @property {number} [most] The largest number of characters.
 * @property {boolean} [isRequired]
 * @property {boolean} [isRare] Whether it is shown on demand.
 */

/**
 * What a form is about.
 * @typedef {object} Subject
 * @property {string} title
 * @property {string} label Of the button that sends it.
 * @property {string} draft Under what the browser keeps what is typed.
 * @property {Field[]} fields
 * @property {() => Values | null} now The present values; null if it is gone.
 * @property {() => string} changer The name of the user who made the last change; empty if that is not known.
 * @property {(changed: Values) => Promise<unknown>} save
 * @property {(result: any) => void} [done] Called with what `save` has returned, after the form is closed.
 * @property {() => () => void} [edit] Tells others that it is edited, and returns a function that ends this.
 */

let forms = 0;

/** @param {unknown} one @param {unknown} other */
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

class FieldsForm extends View {
  /** @type {Subject} */
  subject = /** @type {any} */ (undefined);
  close = () => {};

  /** The values when the form was opened, or when others' were last seen. @type {Values} */
  #base = {};
  /** @type {Values} */
  #values = {};
  #fault = "";
  #isBusy = false;
  #name = `form-${++forms}`;

  begin() {
    this.#base = this.subject.now() ?? {};
    const draft = draftOf(this.subject.draft);
    if (draft) this.#base = draft.base;
    this.#values = { ...this.#base, ...draft?.values };
    if (this.subject.edit) this.during(this.subject.edit());
    requestAnimationFrame(() => /** @type {HTMLElement | null} */ (this.querySelector("input, textarea"))?.focus());
  }

  /** The names of the fields that were changed here. */
  get #changed() {
    return Object.keys(this.#values).filter((name) => !same(this.#values[name], this.#base[name]));
  }

  template() {
    const { title, label, fields } = this.subject;
    const rare = fields.filter(({ isRare }) => isRare);
    return html`
      <form aria-labelledby=${this.#name} @submit=${(/** @type {Event} */ event) => this.#submit(event)}
        @input=${(/** @type {Event} */ event) => this.#typed(event)}
        @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
        <h2 id=${this.#name}>${title}</h2>
        ${this.#others()}
        ${fields.filter(({ isRare }) => !isRare).map((field) => this.#field(field))}
        ${rare.length > 0 ? html`<details><summary>${text().moreFields}</summary>
          <div class="pairs">${rare.map((field) => this.#field(field))}</div></details>` : ""}
        <p class="fault" role="alert">${this.#fault}</p>
        <footer>
          <button type="button" class="plain" @click=${() => this.#giveUp()}>${text().cancel}</button>
          <button class="primary" ?disabled=${this.#isBusy}>${label}</button>
        </footer>
      </form>`;
  }

  /** What others have changed meanwhile. */
  #others() {
    const now = this.subject.now();
    if (!now) return html`<p class="conflict" role="alert">${text().goneMeanwhile}</p>`;
    const theirs = this.subject.fields.filter(({ name }) => !same(now[name], this.#base[name]) && !same(now[name], this.#values[name]));
    if (theirs.length === 0) return "";
    const who = this.subject.changer();
    return html`
      <div class="conflict" role="alert">
        <p>${who ? text().changedMeanwhile(fullName(who)) : text().wasChangedMeanwhile}</p>
        <dl>${theirs.map(({ name, label, kind }) => html`<dt>${label}</dt><dd>${shown(now[name], kind) || "–"}</dd>`)}</dl>
        <p><button type="button" @click=${() => this.#see(now, theirs.map(({ name }) => name))}>${text().takeTheirs}</button>
        <button type="button" @click=${() => this.#see(now, [])}>${text().keepMine}</button></p>
      </div>`;
  }

  /**
   * Goes on from the present values, of which some are taken.
   * @param {Values} now
   * @param {string[]} taken
   */
  #see(now, taken) {
    // What neither side has changed here stays as it is shown, and counts as changed from now on.
    this.#values = { ...this.#values, ...Object.fromEntries(taken.map((name) => [name, now[name]])) };
    this.#base = now;
    this.#keep();
    this.changed();
  }

  /** @param {Field} field */
  #field({ name, label, kind, most, isRequired }) {
    const value = this.#values[name] ?? "";
    if (kind === "names") {
      return html`<div class="field"><span aria-hidden="true">${label}</span>
        <name-list .names=${value || []} .label=${label} .known=${known} .change=${(/** @type {string[]} */ names) => this.#set(name, names)}></name-list></div>`;
    }
    if (kind === "long") return html`<label>${label}<textarea name=${name} rows="3" maxlength=${most} .value=${value}></textarea></label>`;
    const type = kind === "moment" ? "datetime-local" : kind === "day" ? "date" : "text";
    return html`<label>${label}<input name=${name} type=${type} maxlength=${kind === "text" ? most : null} ?required=${isRequired} .value=${value}></label>`;
  }

  /** @param {Event} event */
  #typed(event) {
    const { name, value } = /** @type {HTMLInputElement} */ (event.target);
    if (name) this.#set(name, value);
  }

  /**
   * @param {string} name
   * @param {string | string[]} value
   */
  #set(name, value) {
    this.#values = { ...this.#values, [name]: value };
    this.#keep();
    this.changed();
  }

  #keep() {
    const changed = this.#changed;
    const values = Object.fromEntries(changed.map((name) => [name, this.#values[name]]));
    keepDraft(this.subject.draft, changed.length > 0 ? { base: this.#base, values } : null);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.querySelector("form")?.requestSubmit();
  }

  #giveUp() {
    keepDraft(this.subject.draft, null);
    this.close();
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    const changed = Object.fromEntries(this.#changed.map((name) => [name, this.#values[name]]));
    this.#isBusy = true;
    this.#fault = "";
    this.changed();
    try {
      const result = Object.keys(changed).length > 0 ? await this.subject.save(changed) : undefined;
      this.#giveUp();
      this.subject.done?.(result);
    } catch (error) {
      this.#fault = explain(error);
    } finally {
      this.#isBusy = false;
      this.changed();
    }
  }
}

/** The users, as suggestions. */
const known = () => people().map(([name, label]) => ({ name, label }));

/**
 * A value in words.
 * @param {string | string[] | undefined} value
 * @param {Field["kind"]} kind
 */
function shown(value, kind) {
  if (Array.isArray(value)) return value.map(fullName).join(", ");
  return kind === "moment" ? value?.replace("T", " ") : value;
}

/**
 * Opens a form in a dialog.
 * @param {Subject} subject
 */
export function openForm(subject) {
  const dialog = document.createElement("dialog");
  dialog.className = "form";
  dialog.ariaLabel = subject.title;
  const form = new FieldsForm();
  form.subject = subject;
  form.close = () => dialog.close();
  dialog.append(form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

customElements.define("fields-form", FieldsForm);
