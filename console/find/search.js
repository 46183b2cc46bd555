// A search as you type.

import { CallError, call } from "../api/calls.js";
import { Signal } from "../lib/view.js";
import { entryOf } from "../parts/entry.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */
/** @typedef {{ entry: Entry, extract: { text: string, matches: [number, number][] } | null }} Hit */

/** The pause after a key until a search begins, in milliseconds. */
const PAUSE = 120;

export class Search {
  /** @type {Signal<Hit[]>} */
  hits = new Signal([]);
  /** @type {Signal<{ value: string, count: number }[]>} */
  types = new Signal([]);
  /** The number of all hits; null before a search. @type {Signal<number | null>} */
  total = new Signal(null);
  isComplete = new Signal(true);
  isOff = new Signal(false);
  /** @type {Signal<unknown>} Why the last search failed. */
  fault = new Signal(null);

  /** @type {AbortController | null} */
  #running = null;
  #timer = 0;

  /**
   * @param {Record<string, string | number | boolean>} options Beside the words.
   */
  constructor(options) {
    this.options = options;
  }

  /**
   * Finds what has the words, after a pause. A later search replaces an earlier one.
   * @param {string} words
   * @param {Record<string, string | undefined>} [filters]
   */
  find(words, filters = {}) {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#find(words, filters), PAUSE);
  }

  /**
   * @param {string} words
   * @param {Record<string, string | undefined>} filters
   */
  async #find(words, filters) {
    this.#running?.abort();
    const running = (this.#running = new AbortController());
    const query = { query: words, asYouType: true, ...this.options, ...filters };
    try {
      const { result } = await call("GET", "v3/search", { query, signal: running.signal });
      this.hits.value = result.items.map(hitOf);
      this.types.value = result.facets?.type ?? [];
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
  const extract = item.highlights?.find((/** @type {any} */ one) => one.field === "text") ?? null;
  return { entry: entryOf(item), extract };
}
