// The page on which everything is found: by words, narrowed by what the hits have in common.

import { partsOfAddress } from "../api/calls.js";
import { fullName } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { facts, marked, thumbnail } from "../parts/card.js";
import { openMenu } from "../parts/menu.js";
import { copy, notifyFault } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { explain, text } from "../text/index.js";
import { FILTERS, Search } from "./search.js";

/** @typedef {import("./search.js").Hit} Hit */
/** @typedef {keyof typeof FILTERS} Category */

const CATEGORIES = /** @type {Category[]} */ (Object.keys(FILTERS));

/** The hits that are read at once. */
const PAGE = 40;

/** The values of a category that are shown until all are wanted. */
const FEW = 7;

const SORTS = /** @type {const} */ (["relevance", "modified", "created", "name"]);

/** The periods of the last change, in days. */
const PERIODS = [1, 7, 30, 365];

const DAY = 86_400_000;

/** Whether there is room for the filters beside the hits. */
const IS_WIDE = matchMedia("(min-width: 721px)").matches;

class FindPage extends View {
  #search = new Search({ limit: PAGE, facets: CATEGORIES.join() });
  #words = new Signal("");
  /** What the hits must have, by category, with the sort and the period. */
  #filters = new Signal(new URLSearchParams());
  /** @type {Signal<Set<string>>} The categories that show all their values. */
  #wide = new Signal(new Set());

  begin() {
    const follow = () => this.#follow();
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    this.#follow();
    requestAnimationFrame(() => this.querySelector("input")?.focus());
  }

  /** Finds what the address names: its words, and the filters behind them. */
  #follow() {
    const [page, words, filters] = partsOfAddress();
    if (page !== "find") return;
    this.#words.value = words;
    this.#filters.value = new URLSearchParams(filters);
    const days = Number(this.#filters.now.get("days"));
    const chosen = Object.entries(FILTERS).map(([category, filter]) => [filter, this.#filters.now.getAll(category).join() || undefined]);
    this.#search.find(words, {
      ...Object.fromEntries(chosen),
      sort: this.#sort,
      from: days > 0 ? Date.now() - days * DAY : undefined,
    });
  }

  get #sort() {
    return this.#filters.now.get("sort") ?? (this.#words.now.trim() ? "relevance" : "modified");
  }

  /**
   * Changes the address, which everything follows.
   * @param {string} words
   * @param {URLSearchParams} filters
   */
  #go(words, filters) {
    history.replaceState(null, "", `#/find/${encodeURIComponent(words)}/${filters}`);
    this.#follow();
  }

  template() {
    const search = this.#search;
    const total = search.total.value;
    const hits = search.hits.value;
    return html`
      <div class="finding" data-scrolls>
        <form role="search" @submit=${(/** @type {Event} */ event) => event.preventDefault()}>
          <h1 class="unseen">${text().find}</h1>
          <input type="search" class="words" aria-label=${text().findEverything} placeholder=${text().findEverything} .value=${this.#words.value}
            @input=${(/** @type {Event} */ event) => this.#go(/** @type {HTMLInputElement} */ (event.target).value, this.#filters.now)}
            @keydown=${(/** @type {KeyboardEvent} */ event) => this.#down(event)}>
          <details class="help"><summary>${text().searchHelp}</summary><p class="hint">${text().searchSyntax}</p></details>
        </form>
        <div class="found">
          <details class="narrow" ?open=${IS_WIDE}><summary>${text().narrow}</summary>${this.#narrow()}</details>
          <section aria-label=${text().find}>
            <p class="facts" role="status">${total === null ? "" : text().hits(total)} ${search.isComplete.value ? "" : text().notComplete}</p>
            ${search.fault.value ? html`<p class="fault">${search.isOff.value ? text().searchIsOff : explain(search.fault.value)}</p>` : ""}
            ${total === 0 ? html`<div class="nothing"><p><b>${text().noHits}</b></p><p>${text().noHitsHint}</p></div>` : ""}
            <ol class="hits" @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
              ${keyed(hits, ({ entry }) => entry.id, (hit) => this.#hit(hit))}</ol>
            ${total !== null && hits.length < total && hits.length > 0 ? html`
              <button class="more" @click=${() => void search.more().catch(notifyFault)}>${text().showMore}</button>` : ""}
          </section>
        </div>
      </div>`;
  }

  #narrow() {
    const filters = this.#filters.value;
    const sort = this.#sort;
    const days = filters.get("days") ?? "";
    return html`
      <label>${text().sortedBy}<select @change=${(/** @type {Event} */ event) => this.#set("sort", event)}>
        ${SORTS.map((name) => html`<option value=${name} .selected=${name === sort}>${text().sorts[name]}</option>`)}</select></label>
      <label>${text().lastChange}<select @change=${(/** @type {Event} */ event) => this.#set("days", event)}>
        <option value="" .selected=${days === ""}>${text().anyTime}</option>
        ${PERIODS.map((count) => html`<option value=${count} .selected=${days === String(count)}>${text().lastDays(count)}</option>`)}</select></label>
      ${CATEGORIES.map((category) => this.#category(category, filters))}
      ${filters.size > 0 ? html`<button type="button" @click=${() => this.#go(this.#words.now, new URLSearchParams())}>${text().allOfIt}</button>` : ""}`;
  }

  /**
   * @param {Category} category
   * @param {URLSearchParams} filters
   */
  #category(category, filters) {
    const values = this.#search.facets.value[category] ?? [];
    const chosen = filters.getAll(category);
    const missing = chosen.filter((one) => !values.some(({ value }) => value === one)).map((value) => ({ value, count: 0 }));
    const all = [...missing, ...values];
    if (all.length < 2 && chosen.length === 0) return html``;
    const shown = this.#wide.value.has(category) ? all : all.filter(({ value }, index) => index < FEW || chosen.includes(value));
    const name = (/** @type {string} */ value) => (category === "author" ? fullName(value) : category === "kind" ? (text().kinds[value] ?? value) : value);
    return html`
      <fieldset data-category=${category}><legend>${text().categories[category]}</legend>
        ${keyed(shown, ({ value }) => value, ({ value, count }) => html`
          <label class="choice"><input type="checkbox" .checked=${chosen.includes(value)} @change=${() => this.#toggle(category, value)}>
            <span>${name(value)}</span> <small>${count}</small></label>`)}
        ${all.length > shown.length ? html`<button type="button" class="plain" @click=${() => this.#widen(category)}>${text().showMore}</button>` : ""}
      </fieldset>`;
  }

  /** @param {Hit} hit */
  #hit(hit) {
    const { entry, title, extract, page } = hit;
    return html`
      <li data-hit=${entry.id}>
        ${thumbnail(entry)}
        <div class="body">
          <h2><a href=${page}>${title ? marked(title) : entry.title}</a></h2>
          ${extract ? html`<p class="extract">${marked(extract)}</p>` : ""}
          ${facts(entry)}
        </div>
        <button class="plain" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${entry.title}`}
          @click=${(/** @type {Event} */ event) => this.#menu(/** @type {Element} */ (event.currentTarget), hit)}>${icon("more")}</button>
      </li>`;
  }

  /**
   * @param {Element} button
   * @param {Hit} hit
   */
  #menu(button, { entry, page }) {
    openMenu(button, [
      { label: text().open, act: () => (location.hash = page) },
      { label: text().copyAddress, act: () => void copy(entry.id) },
    ], entry.title);
  }

  /**
   * @param {string} name
   * @param {Event} event
   */
  #set(name, event) {
    const { value } = /** @type {HTMLSelectElement} */ (event.target);
    const filters = new URLSearchParams(this.#filters.now);
    if (value === "") filters.delete(name);
    else filters.set(name, value);
    this.#go(this.#words.now, filters);
  }

  /**
   * @param {Category} category
   * @param {string} value
   */
  #toggle(category, value) {
    const filters = new URLSearchParams(this.#filters.now);
    if (filters.has(category, value)) filters.delete(category, value);
    else filters.append(category, value);
    this.#go(this.#words.now, filters);
  }

  /** @param {Category} category */
  #widen(category) {
    this.#wide.now.add(category);
    this.#wide.changed();
  }

  #links() {
    return /** @type {HTMLElement[]} */ ([...this.querySelectorAll("[data-hit] a")]);
  }

  /** @param {KeyboardEvent} event */
  #down(event) {
    const [first] = this.#links();
    if (event.key !== "ArrowDown" || !first) return;
    event.preventDefault();
    first.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = this.#links();
    const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    if (at < 0) this.querySelector("input")?.focus();
    else links[at]?.focus();
  }
}

customElements.define("find-page", FindPage);
