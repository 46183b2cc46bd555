// Short messages: what has happened, shown for a while, and told to those who can't see it.

import { CallError } from "../api/calls.js";
import { Signal, View } from "../lib/view.js";
import { html, keyed } from "../lib/html.js";
import { explain, text } from "../text/index.js";

/** @typedef {{ id: number, words: string, isFault: boolean, label?: string, act?: () => void }} Notice */

/** @type {Signal<Notice[]>} */
const notices = new Signal([]);

/** What screen readers are told beside the notices. */
const said = new Signal("");

/** How long a notice stays, in milliseconds; one about a fault stays until it is closed. */
const STAY = 7000;

/** The largest number of notices at a time; the oldest go first. */
const MOST = 4;

let last = 0;

/**
 * Shows a notice.
 * @param {string} words
 * @param {{ label: string, act: () => void }} [action]
 */
export function notify(words, action) {
  const id = show({ words, isFault: false, ...action });
  setTimeout(() => close(id), STAY);
}

/**
 * Shows what went wrong.
 * @param {unknown} error
 */
export function notifyFault(error) {
  // After the end of a session there is the form to sign in again.
  if (error instanceof CallError && error.status === 401) return;
  show({ words: explain(error), isFault: true });
}

/** @param {Omit<Notice, "id">} notice */
function show(notice) {
  const id = ++last;
  const others = notices.now.filter(({ words }) => words !== notice.words);
  notices.value = [...others, { id, ...notice }].slice(-MOST);
  return id;
}

/** @param {number} id */
function close(id) {
  notices.value = notices.now.filter((notice) => notice.id !== id);
}

/**
 * Tells screen readers something that others see.
 * @param {string} words
 */
export function say(words) {
  said.value = words;
}

/**
 * Copies a text to the clipboard, and says so. Pages without TLS have only the older way.
 * @param {string} words
 * @param {string} [told] What is said.
 */
export async function copy(words, told = text().copied) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(words);
    else copySelected(words);
    notify(told);
  } catch (error) {
    notifyFault(error);
  }
}

/** @param {string} words */
function copySelected(words) {
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.className = "unseen";
  area.value = words;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  if (!isCopied) throw new Error("the clipboard");
}

class NoticeList extends View {
  template() {
    return html`
      <div class="unseen" role="status" aria-live="polite">${said.value}</div>
      <aside class="notices" aria-label=${text().notices} aria-live="polite">
        ${keyed(notices.value, ({ id }) => id, (notice) => html`
          <div class=${notice.isFault ? "notice fault" : "notice"}>
            <span>${notice.words}</span>
            ${notice.act && html`<button @click=${() => (close(notice.id), notice.act?.())}>${notice.label}</button>`}
            <button class="plain" aria-label=${text().close} @click=${() => close(notice.id)}>×</button>
          </div>`)}
      </aside>`;
  }
}

customElements.define("notice-list", NoticeList);
