// What can be found, beside the drawers: hits are dragged into a drawer, or added by key.

import { View } from "../lib/view.js";
import { html, keyed } from "../lib/html.js";
import { mayDrag } from "../drawers/drag.js";
import { facts, marked, thumbnail } from "../parts/card.js";
import { icon } from "../parts/signs.js";
import { openPage } from "../parts/entry.js";
import { openMenu } from "../parts/menu.js";
import { notify, notifyFault } from "../parts/notices.js";
import { explain, text } from "../text/index.js";
import { Search } from "./search.js";

/** @typedef {import("./search.js").Hit} Hit */

class FindPanel extends View {
  /** @type {import("../drawers/column.js").Desk} */
  desk = /** @type {any} */ (undefined);

  #search = new Search({ kinds: "object", facets: "type", limit: 50 });
  #words = "";
  #type = "";

  begin() {
    // Without words: what was changed last.
    this.#search.find("", { sort: "modified" });
  }

  template() {
    const search = this.#search;
    const total = search.total.value;
    return html`
      <aside class="find" aria-label=${text().find}>
        <form role="search" @submit=${(/** @type {Event} */ event) => event.preventDefault()}>
          <input type="search" aria-label=${text().findEverything} placeholder=${text().findEverything} .value=${this.#words}
            @input=${(/** @type {Event} */ event) => this.#typed(event)} @keydown=${(/** @type {KeyboardEvent} */ event) => this.#down(event)}>
          <select aria-label=${text().allTypes} @change=${(/** @type {Event} */ event) => this.#choose(event)}>
            <option value="" ?selected=${this.#type === ""}>${text().allTypes}</option>
            ${(search.facets.value.type ?? []).map(({ value, count }) => html`<option value=${value} ?selected=${value === this.#type}>${value} (${count})</option>`)}
          </select>
        </form>
        <p class="facts" role="status">${total === null ? "" : text().hits(total)} ${search.isComplete.value ? "" : text().notComplete}</p>
        ${search.fault.value ? html`<p class="fault">${search.isOff.value ? text().searchIsOff : explain(search.fault.value)}</p>` : ""}
        ${total === 0 ? html`<div class="nothing"><p><b>${text().noHits}</b></p><p>${text().noHitsHint}</p></div>` : ""}
        <ol class="cards" data-scrolls @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
          ${keyed(search.hits.value, ({ entry }) => entry.id, (hit, index) => this.#card(hit, index))}
        </ol>
      </aside>`;
  }

  /**
   * @param {Hit} hit
   * @param {number} index
   */
  #card(hit, index) {
    const { entry, extract } = hit;
    return html`
      <li class="card" data-hit=${entry.id} tabindex=${index === 0 ? 0 : -1} aria-label=${entry.title}
        @pointerdown=${(/** @type {PointerEvent} */ event) => this.#press(event, hit)}>
        <span class="grip" aria-hidden="true" title=${text().grip(entry.title)}>${icon("grip")}</span>
        ${thumbnail(entry)}
        <div class="body">
          <h3>${entry.title}</h3>
          ${extract ? html`<p class="extract">${marked(extract)}</p>` : ""}
          ${facts(entry)}
        </div>
        <button class="plain item-menu" tabindex="-1" aria-haspopup="menu" aria-label=${`${text().add}: ${entry.title}`}
          @click=${(/** @type {Event} */ event) => this.#menu(/** @type {Element} */ (event.currentTarget), hit)}>${icon("add")}</button>
      </li>`;
  }

  /** @param {Event} event */
  #typed(event) {
    this.#words = /** @type {HTMLInputElement} */ (event.target).value;
    this.#find();
  }

  /** @param {Event} event */
  #choose(event) {
    this.#type = /** @type {HTMLSelectElement} */ (event.target).value;
    this.#find();
  }

  #find() {
    const sort = this.#words.trim() === "" ? "modified" : "relevance";
    this.#search.find(this.#words, { sort, types: this.#type || undefined });
  }

  /** @param {KeyboardEvent} event */
  #down(event) {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    this.#cards()[0]?.focus();
  }

  #cards() {
    return /** @type {HTMLElement[]} */ ([...this.querySelectorAll("[data-hit]")]);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!(event.target instanceof HTMLLIElement)) return;
    const cards = this.#cards();
    const at = cards.indexOf(event.target);
    const hit = this.#search.hits.now[at];
    if (event.key === "ArrowDown") cards[at + 1]?.focus();
    else if (event.key === "ArrowUp") (cards[at - 1] ?? this.querySelector("input"))?.focus();
    else if (event.key === "Enter" && hit) this.#menu(/** @type {Element} */ (event.target.querySelector("button")), hit);
    else return;
    event.preventDefault();
  }

  /**
   * @param {PointerEvent} event
   * @param {Hit} hit
   */
  #press(event, { entry }) {
    mayDrag(event, {
      object: entry.id,
      title: entry.title,
      hold: () => () => {},
      drop: ({ drawer, index }) => void this.#add(entry, drawer, index),
    });
  }

  /**
   * @param {Element} button
   * @param {Hit} hit
   */
  #menu(button, { entry }) {
    const drawers = this.desk.drawers();
    openMenu(button, [
      ...drawers.map((drawer) => ({ label: text().addTo(drawer.title), act: () => void this.#add(entry, drawer.loid, 0) })),
      drawers.length > 0 ? null : { label: text().noDrawers, act: () => {}, isOff: true },
      { label: text().open, act: () => openPage(entry) },
    ], entry.title);
  }

  /**
   * @param {import("../parts/entry.js").Entry} entry
   * @param {string} loid
   * @param {number} index
   */
  async #add(entry, loid, index) {
    const drawer = this.desk.drawers().find((other) => other.loid === loid);
    if (!drawer) return;
    try {
      await drawer.add(entry.id, index);
      notify(text().added(entry.title, drawer.title));
    } catch (error) {
      notifyFault(error);
    }
  }
}

customElements.define("find-panel", FindPanel);
