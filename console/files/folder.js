// A folder on the screen, and what people do with the objects in it.

import { call } from "../api/calls.js";
import { OpenContainer } from "../api/container.js";
import { Signal } from "../lib/view.js";
import { entryOf } from "../parts/entry.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */

/** The objects that are read at once, and by how many more each time. */
const PAGE = 100;

/** The fields by which a listing is sorted. */
export const SORTS = /** @type {const} */ (["name", "type", "status", "modified", "lastModifier", "created", "creator", "issueDate", "version"]);

const DISPLAY = { showPath: true, showSystemAttributes: false, showUsageTickets: false, showAdditionalInfo: true };

export class Folder extends OpenContainer {
  path = new Signal("");
  total = new Signal(0);
  /** @type {Signal<Entry[]>} */
  entries = new Signal([]);
  /** @type {Signal<{ by: string, isDown: boolean }>} */
  sort = new Signal({ by: "name", isDown: false });
  /** A part of the names that are shown. */
  filter = new Signal("");
  #most = PAGE;

  /** @override */
  async fetch() {
    const { by, isDown } = this.sort.now;
    const words = this.filter.now.trim();
    const query = {
      ...DISPLAY,
      limit: this.#most,
      sortBy: `${by}:${isDown ? "desc" : "asc"}`,
      name: words ? `*${words.replace(/[*?,]/g, "?")}*` : undefined,
    };
    const { result } = await call("GET", "v3/folder/{folder}", { parts: { folder: this.loid }, query });
    return () => {
      this.path.value = result.info.path;
      this.total.value = result.total;
      const known = new Map(this.entries.now.map((entry) => [entry.id, entry]));
      this.entries.value = result.items.map((/** @type {any} */ record) => entryOf(record, known.get(record.id)));
      return result.info.revision;
    };
  }

  /** @param {string} by */
  sortBy(by) {
    const { now } = this.sort;
    this.sort.value = { by, isDown: now.by === by ? !now.isDown : by === "modified" };
    this.read();
  }

  /** @param {string} words */
  filterBy(words) {
    this.filter.value = words;
    this.#most = PAGE;
    this.read();
  }

  /** Reads further objects. */
  readMore() {
    this.#most += PAGE;
    this.read();
  }

  /** @param {string} name */
  makeFolder(name) {
    const body = { name, folder: this.loid, createMode: "EXCEPTION" };
    return this.change(() => {}, () => call("POST", "v3/folder", { body }));
  }

  /**
   * @param {Entry} entry
   * @param {string} name
   */
  rename(entry, name) {
    const parts = { object: entry.id };
    return this.change(() => {}, () => call("POST", "v3/object/{object}/rename", { parts, body: { name } }));
  }

  /**
   * @param {Entry} entry
   * @param {string} folder A loid, uuid or path.
   */
  moveTo(entry, folder) {
    const parts = { object: entry.id };
    return this.change(
      () => (this.entries.value = this.entries.now.filter((other) => other !== entry)),
      () => call("POST", "v3/object/{object}/move", { parts, body: { folder } }),
    );
  }

  /** @param {Entry} entry */
  discard(entry) {
    const parts = { object: entry.id };
    return this.change(
      () => (this.entries.value = this.entries.now.filter((other) => other !== entry)),
      () => call("DELETE", "v3/object/{object}/discard", { parts }),
    );
  }

  /** @param {Entry} entry */
  restore(entry) {
    const parts = { object: entry.id };
    return this.change(() => {}, () => call("POST", "v3/object/{object}/restore", { parts, body: {} }));
  }
}
