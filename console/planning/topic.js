// A topic on the screen, and the changes that people make here.

import { call } from "../api/calls.js";
import { OpenContainer } from "../api/container.js";
import { Signal } from "../lib/view.js";
import { entryOf } from "../parts/entry.js";
import { inOrder, placed } from "./lines.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */
/** @typedef {import("./lines.js").Divider} Divider */

/**
 * An item or subitem.
 * @typedef {object} Item
 * @property {"item"} kind
 * @property {string} id
 * @property {string} parent The item of a subitem; empty for an item.
 * @property {number} position
 * @property {Fields} fields
 * @property {string} type
 * @property {string} status Its whole name, or empty.
 * @property {string} statusColour
 * @property {string} workflow
 * @property {Entry | "hidden" | null} attachment
 * @property {(Item | Divider)[]} lines
 */

/** @typedef {Item | Divider} Line */

/**
 * The fields that people fill in, as the interface has them.
 * @typedef {object} Fields
 * @property {string} name
 * @property {string[]} assignees
 * @property {number | null} dueDate Epoch seconds.
 * @property {string} issueDate
 * @property {string} comment
 * @property {string} occupation
 * @property {string} contentType
 * @property {string} priority
 * @property {string} customPriority
 * @property {string} product
 * @property {string} edition
 */

/** The items that are read at once, and by how many more each time. */
const PAGE = 100;

const DISPLAY = { limitToChildren: false, showAttachment: true, showAdditionalInfo: true, showSystemAttributes: false, showUsageTickets: false };

const TOPIC = "v3/container/topic/{topic}";

export class Topic extends OpenContainer {
  info = new Signal({ title: "", type: "", ownTitle: "", description: "", status: "", statusColour: "", workflow: "", database: 0, folder: "" });
  /** @type {Signal<Line[]>} */
  lines = new Signal([]);
  /** The number of items, of which the lines may be the first. */
  total = new Signal(0);
  isComplete = true;
  #most = PAGE;

  /** @override */
  async fetch() {
    const query = { ...DISPLAY, limit: this.#most };
    const { result } = await call("GET", TOPIC, { parts: { topic: this.loid }, query });
    return () => {
      const { info, items, dividers, total } = result;
      this.info.value = {
        title: info.title || info.name,
        ownTitle: info.title,
        description: info.description,
        type: info.type,
        status: info.statusInfo?.name ?? "",
        statusColour: info.statusInfo?.identifier ?? "",
        workflow: info.additionalInfo?.workflow ?? "",
        database: info.databaseId,
        folder: info.additionalInfo?.folderId ?? "",
      };
      this.total.value = total;
      this.isComplete = items.length >= total;
      this.lines.value = inOrder(items.map((/** @type {any} */ item) => itemOf(item, "")), dividers, this.isComplete);
      return info.revision;
    };
  }

  /** Reads further items. */
  readMore() {
    this.#most += PAGE;
    this.read();
  }

  /**
   * The lines among which one is: those of the topic, or of an item.
   * @param {string} parent
   */
  siblings(parent) {
    return parent ? (itemIn(this.lines.now, parent)?.lines ?? []) : this.lines.now;
  }

  /**
   * An item or subitem that is shown.
   * @param {string} id
   */
  item(id) {
    return itemIn(this.lines.value, id);
  }

  /**
   * Makes a change that leads to other lines below a parent.
   * @template T
   * @param {string} parent
   * @param {(lines: Line[]) => Line[]} expected
   * @param {() => Promise<T>} change
   */
  #changeLines(parent, expected, change) {
    const below = (/** @type {Line} */ line) => (line.id === parent && line.kind === "item" ? { ...line, lines: expected(line.lines) } : line);
    const show = () => (this.lines.value = parent ? this.lines.now.map(below) : expected(this.lines.now));
    return this.change(() => void show(), change);
  }

  /**
   * The path of a call on a line.
   * @param {string} parent
   * @param {string} of What it is on.
   */
  #path(parent, of) {
    return parent ? `${TOPIC}/topicitem/{parent}/${of === "topicitem" ? "topicsubitem" : of}` : `${TOPIC}/${of}`;
  }

  /**
   * Adds an item, or a subitem to one.
   * @param {string} parent
   * @param {Partial<Fields>} fields
   * @returns {Promise<string>} Its loid.
   */
  async addItem(parent, fields) {
    const parts = { topic: this.loid, parent };
    const { result } = await this.change(() => {}, () => call("POST", this.#path(parent, "topicitem"), { parts, body: fields }));
    return result.info.id;
  }

  /**
   * Changes fields of an item. Those that are not named stay.
   * @param {Item} item
   * @param {Partial<Fields> & { attachment?: string | null }} fields
   */
  async changeItem(item, fields) {
    const parts = { topic: this.loid, parent: item.parent, item: item.id };
    const path = `${this.#path(item.parent, "topicitem")}/{item}`;
    await this.change(() => {}, () => call("PUT", path, { parts, body: fields }));
  }

  /**
   * Attaches an object, in place of the one that is attached.
   * @param {Item} item
   * @param {string} source A loid, uuid or path.
   */
  async attach(item, source) {
    const parts = { topic: this.loid, parent: item.parent, item: item.id, source };
    const path = `${this.#path(item.parent, "topicitem")}/{item}/attach/{source}`;
    await this.change(() => {}, () => call("PUT", path, { parts }));
  }

  /** @param {Item} item */
  async removeItem(item) {
    const parts = { topic: this.loid, parent: item.parent, item: item.id };
    const without = (/** @type {Line[]} */ lines) => lines.filter(({ id }) => id !== item.id);
    await this.#changeLines(item.parent, without, () => call("DELETE", `${this.#path(item.parent, "topicitem")}/{item}`, { parts }));
  }

  /**
   * Moves a line among its siblings.
   * @param {Line} line
   * @param {string} parent
   * @param {number} to Its index among the others.
   */
  async moveLine(line, parent, to) {
    const parts = { topic: this.loid, parent, line: line.id };
    // The end is the end, however many lines there are by then.
    const isLast = to >= this.siblings(parent).length - 1 && (parent !== "" || this.isComplete);
    const path = `${this.#path(parent, line.kind === "item" ? "topicitem" : "divider")}/{line}`;
    const expected = (/** @type {Line[]} */ lines) => placed(lines, line.id, to);
    await this.#changeLines(parent, expected, () => call("PUT", path, { parts, body: { position: isLast ? -1 : to } }));
  }

  /**
   * Moves an item or subitem into a topic, of which it becomes an item.
   * @param {Item} item
   * @param {string} target
   * @param {number} position
   */
  async moveInto(item, target, position) {
    const body = { sources: [item.id], target, position };
    await this.change(() => {}, () => call("PUT", "v3/container/topic/move", { body }));
  }

  /**
   * Changes the status of the topic or of one of its items.
   * @param {string} source
   * @param {string} status
   */
  async setStatus(source, status) {
    await this.change(() => {}, () => call("POST", "v3/object/{source}/status", { parts: { source }, body: { status } }));
  }

  /**
   * @param {string} parent
   * @param {string} title
   * @param {number} [position]
   */
  async addDivider(parent, title, position) {
    const parts = { topic: this.loid, parent };
    await this.change(() => {}, () => call("POST", this.#path(parent, "divider"), { parts, body: { title, position } }));
  }

  /**
   * @param {Divider} divider
   * @param {string} parent
   * @param {string} title
   */
  async renameDivider(divider, parent, title) {
    const parts = { topic: this.loid, parent, divider: divider.id };
    await this.change(() => {}, () => call("PUT", `${this.#path(parent, "divider")}/{divider}`, { parts, body: { title } }));
  }

  /**
   * @param {Divider} divider
   * @param {string} parent
   */
  async removeDivider(divider, parent) {
    const parts = { topic: this.loid, parent, divider: divider.id };
    const without = (/** @type {Line[]} */ lines) => lines.filter(({ id }) => id !== divider.id);
    await this.#changeLines(parent, without, () => call("DELETE", `${this.#path(parent, "divider")}/{divider}`, { parts }));
  }

  /**
   * Changes fields of the topic.
   * @param {Record<string, unknown>} fields
   */
  async update(fields) {
    await this.change(() => {}, () => call("PUT", TOPIC, { parts: { topic: this.loid }, body: fields }));
  }
}

/**
 * @param {any} reply
 * @param {string} parent
 * @returns {Item}
 */
function itemOf(reply, parent) {
  const { info, position, attachment } = reply;
  const fields = /** @type {Fields} */ ({
    name: info.name,
    assignees: info.assignees,
    dueDate: info.dueDate,
    issueDate: info.issueDate ?? "",
    comment: info.comment,
    occupation: info.occupation,
    contentType: info.contentType,
    priority: String(info.priority),
    customPriority: String(info.customPriority),
    product: info.product,
    edition: info.edition,
  });
  const below = (reply.items ?? []).map((/** @type {any} */ one) => itemOf(one, info.id));
  return {
    kind: "item",
    id: info.id,
    parent,
    position,
    fields,
    type: info.type,
    status: info.statusInfo?.name ?? "",
    statusColour: info.statusInfo?.identifier ?? "",
    workflow: info.additionalInfo?.workflow ?? "",
    attachment: attachment?.hidden ? "hidden" : attachment ? entryOf(attachment) : null,
    lines: inOrder(below, reply.dividers ?? [], true),
  };
}

/**
 * @param {Line[]} lines
 * @param {string} id
 * @returns {Item | undefined}
 */
function itemIn(lines, id) {
  return itemsOf(lines).find((item) => item.id === id);
}

/**
 * All items and subitems, each followed by its own.
 * @param {Line[]} lines
 * @returns {Item[]}
 */
export function itemsOf(lines) {
  return lines.flatMap((line) => (line.kind === "item" ? [line, ...itemsOf(line.lines)] : []));
}
