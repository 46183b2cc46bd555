// A field in which a person is named: what is typed is completed.

import { call } from "../api/calls.js";
import { html } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";

/** The number of suggestions. */
const MOST = 12;

/** The pause after a key until people are looked for, in milliseconds. */
const PAUSE = 150;

let pickers = 0;

class PersonPicker extends View {
  /** The name of the field within its form. */
  field = "";
  label = "";
  value = "";
  required = false;
  /** @type {Signal<{ name: string, fullName: string }[]>} */
  #people = new Signal(/** @type {{ name: string, fullName: string }[]} */ ([]));
  #list = `people-${++pickers}`;
  #timer = 0;

  template() {
    return html`
      <label>${this.label}<input name=${this.field} list=${this.#list} value=${this.value} maxlength="255" ?required=${this.required}
        autocomplete="off" spellcheck="false" @input=${(/** @type {Event} */ event) => this.#typed(event)}></label>
      <datalist id=${this.#list}>${this.#people.value.map(({ name, fullName }) => html`<option value=${name} label=${fullName || name}></option>`)}</datalist>`;
  }

  /** @param {Event} event */
  #typed(event) {
    const query = /** @type {HTMLInputElement} */ (event.target).value;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(async () => {
      if (query.trim() === "") return;
      // Without suggestions a name can still be typed.
      const { result } = await call("GET", "conf/user/list", { query: { query } }).catch(() => ({ result: [] }));
      this.#people.value = result.slice(0, MOST);
    }, PAUSE);
  }
}

customElements.define("person-picker", PersonPicker);
