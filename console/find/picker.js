// A box in which an object is chosen: by words that are searched for, or by its address.

import { Signal, View } from "../lib/view.js";
import { html, keyed } from "../lib/html.js";
import { thumbnail } from "../parts/card.js";
import { notifyFault } from "../parts/notices.js";
import { text } from "../text/index.js";
import { Search } from "./search.js";

/** The number of suggestions. */
const MOST = 8;

/** The forms of a loid and of a uuid. */
const LOID = /^(\d+\$)?\d+\.\d+\.\d+$/;
const UUID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

let pickers = 0;

export class ObjectPicker extends View {
  /** What the button says. */
  verb = "";
  /** The families of objects that are found, comma-separated; empty for all. */
  families = "";
  /**
   * Called with the loid, uuid or path of what was chosen. What was typed stays if it fails.
   * @type {(source: string) => Promise<unknown>}
   */
  pick = () => Promise.resolve();

  #label = new Signal("");
  #search = new Search({ kinds: "object", limit: MOST, highlight: false });
  #name = `picker-${++pickers}`;
  #words = "";
  /** The chosen suggestion; −1 for none. */
  #chosen = -1;
  #isBusy = false;

  /**
   * What is chosen here, for those who can't see where the box is.
   * @param {string} words
   */
  set label(words) {
    this.#label.value = words;
  }

  template() {
    const label = this.#label.value;
    const hits = this.#search.hits.value;
    const isOpen = this.#words !== "" && hits.length > 0;
    const chosen = isOpen && this.#chosen >= 0 ? `${this.#name}-${this.#chosen}` : null;
    return html`
      <form class="picker" @submit=${(/** @type {Event} */ event) => this.#submit(event)} @focusout=${(/** @type {FocusEvent} */ event) => this.#left(event)}>
        <input type="text" role="combobox" autocomplete="off" spellcheck="false"
          aria-label=${label} placeholder=${text().addHint}
          aria-expanded=${String(isOpen)} aria-controls=${this.#name} aria-activedescendant=${chosen}
          aria-autocomplete="list" .value=${this.#words} ?readonly=${this.#isBusy}
          @input=${(/** @type {Event} */ event) => this.#typed(event)}
          @paste=${(/** @type {ClipboardEvent} */ event) => this.#pasted(event)}
          @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
        <button aria-label=${label} ?disabled=${this.#words === "" || this.#isBusy}>${this.verb}</button>
        <ul id=${this.#name} role="listbox" aria-label=${text().find} ?hidden=${!isOpen}>
          ${keyed(isOpen ? hits : [], ({ entry }) => entry.id, ({ entry }, index) => html`
            <li role="option" id=${`${this.#name}-${index}`} aria-selected=${String(index === this.#chosen)}
              @pointerdown=${(/** @type {Event} */ event) => (event.preventDefault(), this.#choose(entry.id))}>
              ${thumbnail(entry)}<span>${entry.title}</span><small>${entry.type}</small>
            </li>`)}
        </ul>
        ${this.#search.isOff.value && this.#words ? html`<p class="hint">${text().searchIsOff}</p>` : ""}
      </form>`;
  }

  /** @param {Event} event */
  #typed(event) {
    this.#words = /** @type {HTMLInputElement} */ (event.target).value;
    this.#chosen = -1;
    if (this.#words.trim() === "" || sourceOf(this.#words)) this.#search.clear();
    else this.#search.find(this.#words, { families: this.families || undefined });
    this.changed();
  }

  /** @param {ClipboardEvent} event */
  #pasted(event) {
    const source = sourceOf(event.clipboardData?.getData("text/plain") ?? "");
    if (!source || this.#words !== "") return;
    event.preventDefault();
    this.#choose(source);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const count = this.#search.hits.now.length;
    if (event.key === "Escape" && this.#words !== "") {
      this.#clear();
    } else if (count > 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const step = event.key === "ArrowDown" ? 1 : -1;
      // One place more than there are hits: that of the input itself.
      this.#chosen = ((this.#chosen + 1 + step + count + 1) % (count + 1)) - 1;
      this.changed();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    const hits = this.#search.hits.now;
    const hit = hits[this.#chosen] ?? (hits.length === 1 ? hits[0] : undefined);
    const source = hit?.entry.id ?? sourceOf(this.#words);
    if (source) this.#choose(source);
    else if (hits.length > 1) {
      this.#chosen = 0;
      this.changed();
    }
  }

  /** @param {string} source */
  async #choose(source) {
    const words = this.#words;
    this.#isBusy = true;
    this.changed();
    try {
      await this.pick(source);
      if (this.#words === words) this.#clear();
    } catch (error) {
      // What was typed stays.
      if (this.#words === "") this.#words = source;
      notifyFault(error);
    } finally {
      this.#isBusy = false;
      this.changed();
    }
  }

  #clear() {
    this.#words = "";
    this.#chosen = -1;
    this.#search.clear();
    this.changed();
  }

  /** @param {FocusEvent} event */
  #left(event) {
    if (!this.contains(/** @type {Node | null} */ (event.relatedTarget))) this.#search.clear();
  }
}

/**
 * The source that a pasted text names: a loid, a uuid, an absolute path, or the address of a page or call that ends with
 * one. Null for anything else.
 * @param {string} pasted
 * @returns {string | null}
 */
export function sourceOf(pasted) {
  const text = pasted.trim();
  if (LOID.test(text) || UUID.test(text)) return text;
  if (/^\/[^/]/.test(text)) return text;
  if (!URL.canParse(text)) return null;
  const { pathname, hash } = new URL(text);
  for (const part of `${pathname}/${hash}`.split(/[/#,?]/).reverse()) {
    const decoded = decode(part);
    if (LOID.test(decoded) || UUID.test(decoded) || decoded.startsWith("/")) return decoded;
  }
  return null;
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

customElements.define("object-picker", ObjectPicker);
