// A drawer on the screen, and the changes that people make here.

import { CallError, call } from "../api/calls.js";
import { OpenContainer } from "../api/container.js";
import { Signal } from "../lib/view.js";
import { entryOf } from "../parts/entry.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */
/** @typedef {{ shortcut: string, object: string, entry: Entry }} Item */

/** The part of each record that a card shows. */
const DISPLAY = { showItems: true, showSystemAttributes: false, showUsageTickets: false };

export class Drawer extends OpenContainer {
  info = new Signal({ title: "", name: "", capacity: 0, count: 0, description: "" });
  /** @type {Signal<Item[]>} */
  items = new Signal([]);

  get title() {
    const { title, name } = this.info.value;
    return title || name;
  }

  /** @override */
  async fetch() {
    const { result } = await call("GET", "v3/container/drawer/{drawer}", { parts: { drawer: this.loid }, query: DISPLAY });
    return () => this.#show(result);
  }

  /** @param {any} reply */
  #show({ info, items }) {
    const { title, name, capacity, count, description, revision } = info;
    this.info.value = { title, name, capacity, count, description };
    const known = new Map(this.items.now.map((item) => [item.shortcut, item]));
    this.items.value = items.map((/** @type {any} */ item) => {
      const old = known.get(item.id);
      const entry = entryOf(item.object, old?.entry);
      return old && old.entry === entry ? old : { shortcut: item.id, object: item.source, entry };
    });
    return revision;
  }

  /**
   * Makes a change of the items.
   * @template T
   * @param {(items: Item[]) => Item[]} expected
   * @param {() => Promise<T>} change
   */
  #changeItems(expected, change) {
    return this.change(() => (this.items.value = expected(this.items.now)), change);
  }

  /**
   * Moves an item within the drawer.
   * @param {Item} item
   * @param {number} to Its index among the others.
   */
  move(item, to) {
    const expected = (/** @type {Item[]} */ items) => placed(items, item, to);
    // The end is the end, however many items the drawer has by then.
    const parts = { drawer: this.loid, shortcut: item.shortcut, to: to < this.items.now.length - 1 ? to : -1 };
    return this.#changeItems(expected, () =>
      call("PUT", "v3/container/drawer/{drawer}/shortcut/{shortcut}/position/{to}", { parts }),
    );
  }

  /**
   * Moves an item into another drawer.
   * @param {Item} item
   * @param {Drawer} target
   * @param {number} to Its index there.
   */
  async moveTo(item, target, to) {
    const without = (/** @type {Item[]} */ items) => items.filter((other) => other.object !== item.object);
    const parts = { drawer: this.loid, shortcut: item.shortcut, target: target.loid, object: item.object, to };
    await this.#changeItems(without, () =>
      target.#changeItems(
        (items) => placed(items, item, to),
        async () => {
          try {
            await call("PUT", "v3/container/drawer/{drawer}/item/{shortcut}/move/{target}", { parts });
          } catch (error) {
            // If the answer to the first attempt was lost, the item is there already.
            if (!(error instanceof CallError && error.code === "ObjectNotFound" && (await target.has(item.object)))) {
              throw error;
            }
          }
          // A move arrives at the tail.
          await call("PUT", "v3/container/drawer/{target}/item/{object}/position/{to}", { parts });
        },
      ),
    );
  }

  /**
   * Whether the drawer on the server holds an object.
   * @param {string} object
   */
  async has(object) {
    const parts = { drawer: this.loid };
    const { result } = await call("GET", "v3/container/drawer/{drawer}", { parts, query: DISPLAY });
    return result.items.some((/** @type {any} */ item) => item.source === object);
  }

  /**
   * Adds an object.
   * @param {string} source A loid, uuid or path.
   * @param {number} [to] Its index; without it, the tail.
   * @returns {Promise<string>} What it is called.
   */
  async add(source, to) {
    const parts = { drawer: this.loid, source, to: to ?? -1 };
    const path = "v3/container/drawer/{drawer}/item/{source}";
    const { result } = await this.change(
      () => {},
      () => (to === undefined ? call("POST", path, { parts }) : call("PUT", `${path}/position/{to}`, { parts })),
    );
    return entryOf(result.items.at(-1).object).title;
  }

  /**
   * Removes an item.
   * @param {Item} item
   */
  remove(item) {
    const without = (/** @type {Item[]} */ items) => items.filter((other) => other !== item);
    const parts = { drawer: this.loid, shortcut: item.shortcut };
    return this.#changeItems(without, () => call("DELETE", "v3/container/drawer/{drawer}/item/{shortcut}", { parts }));
  }

  /**
   * Changes fields of the drawer.
   * @param {Record<string, unknown>} fields
   */
  async update(fields) {
    const parts = { drawer: this.loid };
    await this.change(() => {}, () => call("PUT", "v3/container/drawer/{drawer}", { parts, body: fields }));
  }

  /**
   * Undoes a change of one's own.
   * @param {number} [revision] That to which the change led; without it the latest change is undone.
   */
  async undo(revision) {
    const parts = { drawer: this.loid };
    await this.change(() => {}, () => call("POST", "v3/container/{drawer}/undo", { parts, body: { revision } }));
  }

  /**
   * Makes the drawer as it was.
   * @param {number} revision
   */
  async revert(revision) {
    const parts = { drawer: this.loid };
    await this.change(() => {}, () => call("POST", "v3/container/{drawer}/revert", { parts, body: { revision } }));
  }

  /** Removes all items. */
  clear() {
    const parts = { drawer: this.loid };
    return this.#changeItems(() => [], () => call("PUT", "v3/container/drawer/{drawer}/item/clear", { parts }));
  }
}

/**
 * The items with one of them at an index among the others.
 * @param {Item[]} items
 * @param {Item} item
 * @param {number} to
 */
function placed(items, item, to) {
  const others = items.filter((other) => other.object !== item.object);
  return [...others.slice(0, to), item, ...others.slice(to)];
}
