// A search as you type.

import { CallError, call } from "../api/calls.js";
import { Signal } from "../lib/view.js";
import { addressOf, entryOf } from "../parts/entry.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */
/** @typedef {{ text: string, matches: [number, number][] }} Extract Begin and end of each match, in characters. */

/**
 * @typedef {object} Hit
 * @property {Entry} entry Of the object, or of the post. Of a message, as far as it has the same.
 * @property {string} kind `object`, `post` or `message`.
 * @property {string} page The address of the page on which it is.
 * @property {Extract | null} title The title with what was found in it.
 * @property {Extract | null} extract A part of the text with what was found in it.
 */

/** @typedef {{ value: string, count: number }[]} Facet */

/** The pause after a key until a search begins, in milliseconds. */
const PAUSE = 120;

/** The parameter that filters by a facet. */
export const FILTERS = { kind: "kinds", family: "families", type: "types", status: "status", author: "author" };

/** @typedef {Record<string, string | number | boolean | undefined>} Filters */

export class Search {
  /** @type {Signal<Hit[]>} */
  hits = new Signal([]);
  /** The values of each category. @type {Signal<Record<string, Facet>>} */
  facets = new Signal({});
  /** The number of all hits; null before a search. @type {Signal<number | null>} */
  total = new Signal(null);
  isComplete = new Signal(true);
  isOff = new Signal(false);
  /** @type {Signal<unknown>} Why the last search failed. */
  fault = new Signal(null);

  /** @type {AbortController | null} */
  #running = null;
  #timer = 0;
  /** @type {Filters} */
  #query = {};

  /**
   * @param {Record<string, string | number | boolean>} options Beside the words.
   */
  constructor(options) {
    this.options = options;
  }

  /**
   * Finds what has the words, after a pause. A later search replaces an earlier one.
   * @param {string} words
   * @param {Filters} [filters]
   */
  find(words, filters = {}) {
    clearTimeout(this.#timer);
    this.#query = { query: words, asYouType: true, ...this.options, ...filters };
    this.#timer = window.setTimeout(() => this.#find(this.#query), PAUSE);
  }

  /** Reads the hits behind those that are shown. */
  async more() {
    const shown = this.hits.now;
    const query = { ...this.#query, asYouType: false, offset: shown.length, facets: undefined };
    const running = this.#running;
    const { result } = await call("GET", "v3/search", { query, signal: running?.signal });
    const known = new Set(shown.map(({ entry }) => entry.id));
    const further = result.items.map(hitOf).filter((/** @type {Hit} */ { entry }) => !known.has(entry.id));
    if (running === this.#running) this.hits.value = [...shown, ...further];
  }

  /** @param {Filters} query */
  async #find(query) {
    this.#running?.abort();
    const running = (this.#running = new AbortController());
    try {
      const [{ result }, facets] = await Promise.all([
        call("GET", "v3/search", { query, signal: running.signal }),
        this.#chosenFacets(query, running.signal),
      ]);
      this.hits.value = result.items.map(hitOf);
      this.facets.value = { ...result.facets, ...facets };
      this.total.value = result.total;
      this.isComplete.value = result.complete;
      this.fault.value = null;
    } catch (error) {
      if (running.signal.aborted) return;
      this.isOff.value = error instanceof CallError && error.code === "NoSuchEndpoint";
      this.fault.value = error;
      this.hits.value = [];
      this.total.value = null;
    }
  }

  /**
   * The categories of which values are chosen, with what else could be chosen: counted without the filter of their own.
   * @param {Filters} query
   * @param {AbortSignal} signal
   */
  async #chosenFacets(query, signal) {
    const chosen = Object.entries(FILTERS).filter(([name, filter]) => query[filter] && String(query.facets ?? "").split(",").includes(name));
    const replies = await Promise.all(chosen.map(([name, filter]) =>
      call("GET", "v3/search", { query: { ...query, [filter]: this.options[filter], facets: name, limit: 0 }, signal })));
    return Object.fromEntries(chosen.map(([name], index) => [name, replies[index].result.facets[name]]));
  }

  /** Forgets the hits. */
  clear() {
    clearTimeout(this.#timer);
    this.#running?.abort();
    this.hits.value = [];
    this.total.value = null;
  }
}

/**
 * @param {any} item
 * @returns {Hit}
 */
function hitOf(item) {
  const at = (/** @type {string} */ field) => item.highlights?.find((/** @type {any} */ one) => one.field === field) ?? null;
  const { kind } = item;
  if (kind === "message") {
    const entry = entryOf({ id: item.id, title: item.subject, lastModifier: item.sender, modified: item.sent, additionalInfo: { family: "message" } });
    return { kind, entry, page: `#/messages/${item.id}`, title: at("title"), extract: at("text") };
  }
  const entry = entryOf(item);
  const title = at("title") ?? (entry.title === entry.name ? at("name") : null);
  if (kind !== "post") return { kind, entry, page: addressOf(entry), title, extract: at("text") };
  const { liveblog, title: own, status } = item.post;
  const post = { ...entry, title: own || entry.title, status, family: "liveblog" };
  return { kind, entry: post, page: `#/liveblog/${liveblog}`, title: at("title"), extract: at("text") };
}
