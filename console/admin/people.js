// Who may sign in: the list of people, and the form by which one is added or changed.

import { call } from "../api/calls.js";
import { html, keyed } from "../lib/html.js";
import { Signal } from "../lib/view.js";
import { besideName, icon } from "../parts/signs.js";
import { text } from "../text/index.js";
import { ListSection, explainFault, head, nothing } from "./section.js";
import "./person.js";

/** @typedef {{ name: string, fullName: string, description: string, disabled: boolean, teams: string[], ucount: number }} Person */

/** The people that are shown at once, and by how many more each time. */
const PAGE = 100;

/** The pause after a key until people are looked for, in milliseconds. */
const PAUSE = 150;

class AdminPeople extends ListSection {
  /** @type {Signal<Person[] | null>} */
  #list = new Signal(/** @type {Person[] | null} */ (null));
  #fault = new Signal("");
  #most = new Signal(PAGE);
  #words = "";
  #timer = 0;
  #last = 0;

  constructor() {
    super("people", "data-person");
  }

  /** @override */
  begin() {
    super.begin();
    this.#read();
  }

  async #read() {
    const turn = ++this.#last;
    try {
      const { result } = await call("GET", "conf/user/list", { query: { query: this.#words.trim() || undefined } });
      if (turn !== this.#last) return;
      this.#fault.value = "";
      this.#list.value = result;
    } catch (error) {
      this.#fault.value = explainFault(error);
    }
  }

  /** @param {Event} event */
  #find(event) {
    this.#words = /** @type {HTMLInputElement} */ (event.target).value;
    this.#most.value = PAGE;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#read(), PAUSE);
  }

  template() {
    const t = text().admin.people;
    const isOpen = this.isNew.value || this.chosen.value !== "";
    return html`
      ${head(text().admin.sections.people, t.lead, html`
        <input type="search" class="filter" aria-label=${t.find} placeholder=${t.find}
          @input=${(/** @type {Event} */ event) => this.#find(event)}>
        <button class="primary" @click=${() => this.add()}>${icon("add")}${t.add}</button>`)}
      <div class=${isOpen ? "split open" : "split"}>
        <div class="rows">${this.#rows()}</div>
        ${isOpen ? this.#form() : ""}
      </div>`;
  }

  #rows() {
    const t = text().admin.people;
    const list = this.#list.value;
    if (this.#fault.value) return html`<p class="fault" role="alert">${this.#fault.value}</p>`;
    if (!list) return "";
    if (list.length === 0) return nothing(t.none, t.noneHint);
    // The one whose form is open is always among them.
    const chosen = list.findIndex(({ name }) => name === this.chosen.value);
    const shown = list.slice(0, Math.max(this.#most.value, chosen + 1));
    return html`
      <ul class="choose">${keyed(shown, ({ name }) => name, (person) => html`
        <li><a href=${`#/admin/people/${encodeURIComponent(person.name)}`} data-person=${person.name}
            aria-current=${person.name === this.chosen.value ? "true" : null} class=${person.disabled ? "off" : ""}>
          ${besideName(person.name)}
          <span class="body"><b>${person.fullName || person.name}</b><small>${[person.name, ...person.teams, person.description].filter(Boolean).join(" · ")}</small></span>
          ${person.disabled ? html`<span class="badge">${t.disabled}</span>` : ""}
          ${person.ucount > 0 ? html`<span class="badge here">${t.sessions(person.ucount)}</span>` : ""}</a></li>`)}
      </ul>
      ${list.length > shown.length ? html`<button class="more" @click=${() => (this.#most.value += PAGE)}>${text().showMore}</button>` : ""}`;
  }

  #form() {
    const name = this.isNew.value ? "" : this.chosen.value;
    return keyed([name], (one) => one, () => html`
      <person-form class="panel" .name=${name} .saved=${(/** @type {string} */ saved) => this.#saved(saved)} .closed=${() => this.close()}></person-form>`);
  }

  /** @param {string} name */
  #saved(name) {
    this.openEntry(name);
    this.#read();
  }
}

customElements.define("admin-people", AdminPeople);
