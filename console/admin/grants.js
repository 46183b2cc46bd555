// A table of rights: a row for each place, a column for each privilege.

import { call } from "../api/calls.js";
import "../find/picker.js";
import { html, keyed } from "../lib/html.js";
import { View } from "../lib/view.js";
import { icon } from "../parts/signs.js";
import { text } from "../text/index.js";
import { PRIVILEGES, SERVER_PRIVILEGES } from "./privileges.js";

/** @typedef {import("./privileges.js").Grant} Grant */

/** The place that stands for everywhere. */
const EVERYWHERE = "";

export class GrantsTable extends View {
  /** The privileges of each place, in the order in which they are shown. @type {Map<string, Set<string>>} */
  #places = new Map([[EVERYWHERE, new Set()]]);

  /** @param {Grant[]} grants */
  set grants(grants) {
    this.#places = new Map([[EVERYWHERE, new Set()]]);
    const sorted = [...grants].sort((one, other) => (one.folder ?? "").localeCompare(other.folder ?? ""));
    for (const { privilege, folder } of sorted) this.#privilegesOf(folder ?? EVERYWHERE).add(privilege);
    this.changed();
  }

  /** What is ticked now. @returns {Grant[]} */
  get grants() {
    return [...this.#places].flatMap(([place, privileges]) =>
      PRIVILEGES.filter((privilege) => privileges.has(privilege)).map((privilege) => (place === EVERYWHERE ? { privilege } : { privilege, folder: place })));
  }

  /** @param {string} place */
  #privilegesOf(place) {
    const known = this.#places.get(place) ?? new Set();
    this.#places.set(place, known);
    return known;
  }

  template() {
    const t = text().admin;
    return html`
      <div class="wide" role="region" aria-label=${t.grants.title} tabindex="0">
        <table class="grants">
          <caption class="unseen">${t.grants.title}</caption>
          <thead><tr><td></td>${PRIVILEGES.map((privilege) => html`<th scope="col"><span>${t.privileges[privilege]}</span></th>`)}<td></td></tr></thead>
          <tbody>${keyed([...this.#places], ([place]) => place, ([place, privileges]) => this.#row(place, privileges))}</tbody>
        </table>
      </div>
      <object-picker .families=${"folder"} .verb=${t.grants.addPlace} .label=${`${t.grants.addPlace}: ${t.grants.place}`} .pick=${(/** @type {string} */ source) => this.#add(source)}></object-picker>`;
  }

  /**
   * @param {string} place
   * @param {Set<string>} privileges
   */
  #row(place, privileges) {
    const t = text().admin;
    const name = place === EVERYWHERE ? t.grants.everywhere : place;
    const everywhere = this.#privilegesOf(EVERYWHERE);
    return html`
      <tr data-place=${name}>
        <th scope="row">${name}</th>
        ${PRIVILEGES.map((privilege) => html`
          <td class=${place !== EVERYWHERE && everywhere.has(privilege) ? "implied" : ""}>
            ${place !== EVERYWHERE && SERVER_PRIVILEGES.has(privilege) ? "" : html`
              <input type="checkbox" aria-label=${`${t.privileges[privilege]}: ${name}`} data-privilege=${privilege} .checked=${privileges.has(privilege)}
                @change=${() => this.#toggle(privileges, privilege)}>`}</td>`)}
        <td>${place === EVERYWHERE ? "" : html`
          <button type="button" class="plain" aria-label=${t.grants.removePlace(name)} @click=${() => this.#remove(place)}>${icon("close")}</button>`}</td>
      </tr>`;
  }

  /**
   * @param {Set<string>} privileges
   * @param {string} privilege
   */
  #toggle(privileges, privilege) {
    if (!privileges.delete(privilege)) privileges.add(privilege);
    this.changed();
  }

  /** @param {string} place */
  #remove(place) {
    this.#places.delete(place);
    this.changed();
    /** @type {HTMLElement | null} */ (this.querySelector("object-picker input"))?.focus();
  }

  /**
   * Adds a place, by its path.
   * @param {string} folder A loid, uuid or path.
   */
  async #add(folder) {
    const query = { limit: 0, showPath: true };
    const { result } = await call("GET", "v3/folder/{folder}", { parts: { folder }, query });
    this.#privilegesOf(result.info.path ?? result.info.id);
    this.changed();
  }
}

customElements.define("grants-table", GrantsTable);

/**
 * Rights in a few words: each place, and what may be done there.
 * @param {Grant[]} grants
 */
export function grantsInWords(grants) {
  const t = text().admin;
  /** @type {Map<string, string[]>} */
  const places = new Map();
  for (const { privilege, folder } of grants) {
    const place = folder ?? t.grants.everywhere;
    places.set(place, [...(places.get(place) ?? []), t.privileges[/** @type {"read"} */ (privilege)] ?? privilege]);
  }
  return [...places].map(([place, names]) => `${place}: ${names.join(", ")}`).join(" · ");
}
