// A box in which several people, or groups, are named.

import { fullName } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { text } from "../text/index.js";
import { besideName } from "./signs.js";

/** The number of suggestions. */
const MOST = 20;

let lists = 0;

/** @typedef {{ name: string, label: string }} Known A name that is suggested, and what it means. */

class NameList extends View {
  /** Those that are suggested. @type {() => Known[]} */
  known = () => [];
  /** Called with the names after each change. @type {(names: string[]) => void} */
  change = () => {};

  /** @type {Signal<string[]>} */
  #names = new Signal(/** @type {string[]} */ ([]));
  #label = new Signal("");
  #words = "";
  #name = `names-${++lists}`;

  /** @param {string[]} names */
  set names(names) {
    if (names.join("\n") !== this.#names.now.join("\n")) this.#names.value = names;
  }

  /** @param {string} label */
  set label(label) {
    this.#label.value = label;
  }

  template() {
    const words = this.#words.trim().toLocaleLowerCase();
    const chosen = this.#names.value;
    const fits = (/** @type {Known} */ { name, label }) => !chosen.includes(name) && `${name} ${label}`.toLocaleLowerCase().includes(words);
    return html`
      <div class="names" role="group" aria-label=${this.#label.value}>
        ${keyed(chosen, (name) => name, (name) => html`
          <span class="chip">${besideName(name)}<bdi>${fullName(name)}</bdi>
            <button type="button" class="plain" aria-label=${text().removeName(fullName(name))} @click=${() => this.#drop(name)}>×</button></span>`)}
        <input type="text" list=${this.#name} aria-label=${this.#label.value} placeholder=${chosen.length > 0 ? "" : text().addName}
          autocomplete="off" autocapitalize="none" spellcheck="false" .value=${this.#words}
          @input=${(/** @type {InputEvent} */ event) => this.#typed(event)}
          @change=${(/** @type {Event} */ event) => (event.stopPropagation(), this.#add(this.#words))}
          @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
        <datalist id=${this.#name}>${this.known().filter(fits).slice(0, MOST).map(({ name, label }) => html`<option value=${name}>${label}</option>`)}</datalist>
      </div>`;
  }

  /** @param {InputEvent} event */
  #typed(event) {
    // What holds this list has a look at its own inputs only.
    event.stopPropagation();
    this.#words = /** @type {HTMLInputElement} */ (event.target).value;
    // A suggestion was chosen.
    const isWhole = event.inputType === undefined || event.inputType === "insertReplacementText";
    if (isWhole && this.known().some(({ name }) => name === this.#words)) this.#add(this.#words);
    this.changed();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.#names.now.at(-1);
    if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === ",") {
      // Not the form's end.
      event.preventDefault();
      this.#add(this.#words);
    } else if (event.key === "Backspace" && this.#words === "" && last) {
      this.#drop(last);
    }
  }

  /** @param {string} words A name, or a full name. */
  #add(words) {
    const wanted = words.trim();
    this.#words = "";
    this.changed();
    if (wanted === "") return;
    const same = (/** @type {string} */ one) => one.toLocaleLowerCase() === wanted.toLocaleLowerCase();
    const known = this.known();
    const found = known.find(({ name }) => name === wanted) ?? known.find(({ name, label }) => same(name) || same(label));
    const name = found?.name ?? wanted;
    if (!this.#names.now.includes(name)) this.#set([...this.#names.now, name]);
  }

  /** @param {string} name */
  #drop(name) {
    this.#set(this.#names.now.filter((other) => other !== name));
    this.querySelector("input")?.focus();
  }

  /** @param {string[]} names */
  #set(names) {
    this.#names.value = names;
    this.change(names);
  }
}

customElements.define("name-list", NameList);
