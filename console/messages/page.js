// The page of messages: the inbox or outbox, and the message that is read or written beside it.

import { partsOfAddress } from "../api/calls.js";
import { countMessages, fullName, inbox, user } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View, effect } from "../lib/view.js";
import { thumbnail } from "../parts/card.js";
import { ask } from "../parts/dialog.js";
import { notifyFault, say } from "../parts/notices.js";
import { besideName, icon } from "../parts/signs.js";
import { ago, explain, moment, text } from "../text/index.js";
import { Box } from "./box.js";
import { EMPTY } from "./letter.js";

/** @typedef {import("./box.js").Message} Message */
/** @typedef {import("./box.js").BoxName} BoxName */

/** The characters of a text that are shown in the list. */
const EXTRACT = 160;

/** The characters of a text that an answer repeats. */
const QUOTED = 4000;

class MessagesPage extends View {
  #boxes = { inbox: new Box("inbox"), outbox: new Box("outbox") };
  /** @type {Signal<BoxName>} */
  #shown = new Signal(/** @type {BoxName} */ ("inbox"));
  /** The message that is open, and what is done with it. @type {Signal<{ id: string, as: "read" | "answer" | "answer-all" | "write" } | null>} */
  #open = new Signal(/** @type {any} */ (null));
  /** Whether a pointer or the focus is in the list, which then stays as it is. */
  #isTouched = false;
  /** Whether messages have arrived that the list does not show. */
  #isStale = new Signal(false);
  /** The message that the Tab key reaches. */
  #current = "";

  begin() {
    const follow = () => this.#show();
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    this.during(effect(() => this.#arrived(inbox.value?.total, inbox.value?.unread)));
    this.#show();
    countMessages().catch(() => {});
  }

  get #box() {
    return this.#boxes[this.#shown.value];
  }

  /**
   * Reads the inbox again if something has arrived, unless somebody is in it.
   * @param {number | undefined} total
   * @param {number | undefined} unread
   */
  #arrived(total, unread) {
    const box = this.#boxes.inbox;
    if (total === undefined || !box.isThere.now || (total === box.total.now && unread === box.messages.now.filter(({ isRead }) => !isRead).length)) return;
    if (this.#isTouched && this.#shown.now === "inbox" && total > box.total.now) this.#isStale.value = true;
    else box.read().catch(notifyFault);
  }

  /** Shows what the address names: a box, and a message in it. */
  #show() {
    const [page, shown] = partsOfAddress();
    if (page !== "messages") return;
    const [name, id = "", as = "read"] = shown.split(",");
    if (name === "inbox" || name === "outbox") this.#shown.value = name;
    const isWritten = name === "write";
    this.#open.value = isWritten ? { id: "", as: "write" } : id ? { id, as: as === "answer" || as === "answer-all" ? as : "read" } : null;
    this.#box.read().then(() => this.#opened(), notifyFault);
  }

  /** Marks the open message as read. */
  #opened() {
    const open = this.#open.now;
    const message = open?.as === "read" ? this.#box.messages.now.find(({ id }) => id === open.id) : undefined;
    if (message) this.#box.markRead(message).catch(notifyFault);
    // On a narrow screen it covers the list.
    if (message && !document.activeElement?.checkVisibility()) /** @type {HTMLElement | null} */ (this.querySelector("article"))?.focus();
  }

  template() {
    const open = this.#open.value;
    const shown = this.#shown.value;
    const unread = inbox.value?.unread ?? 0;
    const tab = (/** @type {BoxName} */ name, /** @type {string} */ label) => html`
      <a class="box" href=${`#/messages/${name}`} aria-current=${shown === name ? "true" : null}>${label}${name === "inbox" && unread > 0 ? html` <b>${unread}</b>` : ""}</a>`;
    return html`
      <div class=${open ? "messages beside" : "messages"}>
        <div class="toolbar">
          <h1>${text().messages}</h1>
          <nav class="boxes" aria-label=${text().messages}>${tab("inbox", text().inbox)}${tab("outbox", text().outbox)}</nav>
          <span class="gap"></span>
          <button class="primary" @click=${() => (location.hash = "#/messages/write")}>${icon("add")}${text().newMessage}</button>
        </div>
        <p id="message-help" class="unseen">${text().messageHelp}</p>
        <div class="halves">
          <div class="half">${this.#list()}</div>
          ${open ? html`<div class="half open">${this.#opening(open)}</div>` : ""}
        </div>
      </div>`;
  }

  #list() {
    const box = this.#box;
    const messages = box.messages.value;
    const isInbox = box.name === "inbox";
    const open = this.#open.value?.id;
    if (messages.length === 0) {
      if (!box.isThere.value) return "";
      return html`<div class="nothing"><p><b>${isInbox ? text().emptyInbox : text().emptyOutbox}</b></p><p>${text().emptyBoxHint}</p></div>`;
    }
    const reached = messages.some(({ id }) => id === this.#current) ? this.#current : messages[0].id;
    return html`
      ${this.#isStale.value ? html`<button class="fresh" @click=${() => this.#refresh()}>${text().newMessages}</button>` : ""}
      <ol class="letters" aria-label=${isInbox ? text().inbox : text().outbox} aria-describedby="message-help"
        @pointerenter=${() => (this.#isTouched = true)} @pointerleave=${() => this.#left()}
        @focusin=${() => (this.#isTouched = true)} @focusout=${() => this.#left()}
        @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
        ${keyed(messages, ({ id }) => id, (message) => this.#line(message, message.id === open, message.id === reached))}
      </ol>
      ${box.total.value > messages.length ? html`<button class="more" @click=${() => void box.readMore().catch(notifyFault)}>${text().showMore}</button>` : ""}`;
  }

  /**
   * @param {Message} message
   * @param {boolean} isOpen
   * @param {boolean} isReached
   */
  #line(message, isOpen, isReached) {
    const isInbox = this.#box.name === "inbox";
    const isUnread = isInbox && !message.isRead;
    const who = isInbox ? fullName(message.sender) : namesOf(message.recipients);
    return html`
      <li class=${`letter-line${isUnread ? " unread" : ""}${isOpen ? " open" : ""}`} data-message=${message.id} tabindex=${isReached ? 0 : -1}
        aria-current=${isOpen ? "true" : null} @click=${() => this.#go(message)}
        aria-label=${`${isUnread ? `${text().unread}: ` : ""}${message.subject || text().noSubject}, ${who}, ${ago(message.sent)}`}>
        ${besideName(isInbox ? message.sender : (message.recipients[0] ?? ""))}
        <div class="body">
          <p class="who"><bdi>${who}</bdi><time title=${moment(message.sent)}>${ago(message.sent)}</time></p>
          <p class="subject"><bdi>${message.subject || text().noSubject}</bdi>${message.priority === "high" ? html`<span class="tag">${text().priorities.high}</span>` : ""}
            ${message.attachments.length > 0 ? html`<span class="soft">${text().objects(message.attachments.length)}</span>` : ""}</p>
          <p class="extract"><bdi>${message.body.slice(0, EXTRACT)}</bdi></p>
        </div>
      </li>`;
  }

  #left() {
    requestAnimationFrame(() => {
      const list = this.querySelector(".letters");
      if (!list || list.matches(":hover, :focus-within")) return;
      this.#isTouched = false;
      if (this.#isStale.now) this.#refresh();
    });
  }

  #refresh() {
    this.#isStale.value = false;
    this.#boxes.inbox.read().catch(notifyFault);
  }

  /** @param {Message} message */
  #go(message) {
    this.#current = message.id;
    location.hash = `#/messages/${this.#box.name},${message.id}`;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const line = /** @type {HTMLElement} */ (event.target);
    const message = this.#box.messages.now.find(({ id }) => id === line.dataset.message);
    if (!message) return;
    const next = event.key === "ArrowDown" ? line.nextElementSibling : event.key === "ArrowUp" ? line.previousElementSibling : null;
    if (next instanceof HTMLElement) {
      this.#current = next.dataset.message ?? "";
      this.changed();
      next.focus();
    } else if (event.key === "Enter") this.#go(message);
    else if (event.key === "Delete") this.#remove(message);
    else return;
    event.preventDefault();
  }

  /** @param {{ id: string, as: string }} open */
  #opening({ id, as }) {
    const message = this.#box.messages.value.find((one) => one.id === id);
    if (as === "write") return this.#letter("message.new", EMPTY, `#/messages/${this.#box.name}`);
    if (!message) return this.#box.isThere.value ? html`<div class="nothing"><p>${text().messageGone}</p></div>` : "";
    if (as === "read") return this.#message(message);
    return this.#letter(`message.${as}.${id}`, answerTo(message, as === "answer-all"), `#/messages/${this.#box.name},${id}`);
  }

  /**
   * @param {string} draft
   * @param {import("./letter.js").Letter} first
   * @param {string} back The address that is shown afterwards.
   */
  #letter(draft, first, back) {
    return html`${keyed([draft], (one) => one, () => html`
      <message-letter .draft=${draft} .first=${first} .close=${() => (location.hash = back)}></message-letter>`)}`;
  }

  /** @param {Message} message */
  #message(message) {
    const address = `#/messages/${this.#box.name},${message.id}`;
    const others = othersOf(message);
    return html`
      <article class="letter" tabindex="-1" aria-labelledby="letter-subject">
        <header>
          <h2 id="letter-subject"><bdi>${message.subject || text().noSubject}</bdi></h2>
          <a class="back" href=${`#/messages/${this.#box.name}`} aria-label=${text().close}>${icon("close")}</a>
        </header>
        <p class="facts">${besideName(message.sender)}<b><bdi>${fullName(message.sender)}</bdi></b>
          <time>${moment(message.sent)}</time>
          ${message.priority === "normal" ? "" : html`<span class="tag">${text().priorities[message.priority]}</span>`}</p>
        <p class="facts">${text().sentTo(namesOf(message.recipients))}</p>
        <div class="words">${linked(message.body)}</div>
        ${message.attachments.length > 0 ? html`
          <h3>${text().attachments}</h3>
          <ul class="attachments">${keyed(message.attachments, ({ id }) => id, (entry) => html`
            <li><a href=${`#/object/${entry.id}`}>${thumbnail(entry)}<bdi>${entry.title}</bdi></a></li>`)}</ul>` : ""}
        <footer>
          <button class="plain risky" @click=${() => this.#remove(message)}>${text().removeMessage}</button>
          <span class="gap"></span>
          ${others.length > 1 ? html`<button @click=${() => (location.hash = `${address},answer-all`)}>${text().answerAll}</button>` : ""}
          <button class="primary" @click=${() => (location.hash = `${address},answer`)}>${text().answer}</button>
        </footer>
      </article>`;
  }

  /** @param {Message} message */
  #remove(message) {
    const box = this.#box;
    ask(text().removeMessageSure, html`<p>${text().removeMessageHint}</p>`, text().removeMessage, async () => {
      const at = box.messages.now.indexOf(message);
      try {
        await box.remove(message);
      } catch (error) {
        return explain(error);
      }
      say(text().messageRemoved);
      const next = box.messages.now[at] ?? box.messages.now[at - 1];
      if (this.#open.now?.id === message.id) location.hash = `#/messages/${box.name}`;
      this.#current = next?.id ?? "";
      // Once the dialog is closed.
      setTimeout(() => {
        const line = next && this.querySelector(`[data-message="${CSS.escape(next.id)}"]`);
        if (line instanceof HTMLElement) line.focus();
      });
    });
  }
}

/** The number of recipients that are shown. */
const MOST = 20;

/**
 * @param {string[]} names
 */
const namesOf = (names) => names.slice(0, MOST).map(fullName).join(", ") + (names.length > MOST ? ` +${names.length - MOST}` : "");

/**
 * Those to whom an answer to all goes.
 * @param {Message} message
 */
const othersOf = ({ sender, recipients }) => [...new Set([sender, ...recipients])].filter((name) => name !== user.now?.name);

/**
 * What an answer begins with.
 * @param {Message} message
 * @param {boolean} isToAll
 * @returns {import("./letter.js").Letter}
 */
function answerTo(message, isToAll) {
  const isOwn = message.sender === user.now?.name;
  const recipients = isToAll ? othersOf(message) : isOwn ? message.recipients : [message.sender];
  const quoted = message.body.slice(0, QUOTED).split("\n").map((line) => `> ${line}`).join("\n");
  const subject = /^re:/i.test(message.subject) ? message.subject : `Re: ${message.subject}`;
  return { ...EMPTY, recipients, subject, body: `\n\n${text().quotes(fullName(message.sender), moment(message.sent))}\n${quoted}` };
}

/**
 * A text whose addresses can be followed.
 * @param {string} words
 */
const linked = (words) =>
  words.split(/(https?:\/\/[^\s<>"]+[^\s<>".,;:!?)\]}])/).map((part, index) =>
    index % 2 === 1 && URL.canParse(part) ? html`<a href=${part} target="_blank" rel="noopener noreferrer">${part}</a>` : html`${part}`);

customElements.define("messages-page", MessagesPage);
