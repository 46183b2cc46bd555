// A topic plan on the screen with its topics, and the changes that people make here.

import { call } from "../api/calls.js";
import { OpenContainer } from "../api/container.js";
import { Signal, effect } from "../lib/view.js";
import { inOrder, placed } from "./lines.js";
import { Topic } from "./topic.js";

/** @typedef {import("./lines.js").Divider} Divider */
/** @typedef {{ kind: "topic", id: string, position: number, name: string }} TopicLine */
/** @typedef {TopicLine | Divider} Line */

/** The topics that are shown at once, and by how many more each time. */
const PAGE = 40;

/** The largest number of topics that are followed: a stream follows 64 containers, for all pages together. */
const FOLLOWED = 40;

const DISPLAY = { showAdditionalInfo: true, showAttributes: false, showSystemAttributes: false, showUsageTickets: false };

const PLAN = "v3/container/topicplan/{plan}";

export class Plan extends OpenContainer {
  info = new Signal({ title: "", type: "", description: "", status: "", workflow: "", database: 0, folder: "" });
  /** @type {Signal<Line[]>} */
  lines = new Signal([]);
  /** The topics that are shown, by loid. @type {Signal<Map<string, Topic>>} */
  topics = new Signal(new Map());
  /** The number of topics, of which the lines may be the first. */
  total = new Signal(0);
  isComplete = true;
  #most = PAGE;
  /** The topics that are followed. @type {Set<Topic>} */
  #followed = new Set();
  /** What ends with a topic. @type {Map<Topic, () => void>} */
  #ends = new Map();

  /** @override */
  async fetch() {
    const query = { ...DISPLAY, limit: this.#most };
    const { result } = await call("GET", PLAN, { parts: { plan: this.loid }, query });
    return () => {
      const { info, items, dividers, total } = result;
      this.info.value = {
        title: info.title || info.name,
        description: info.description,
        type: info.type,
        status: info.statusInfo?.name ?? "",
        workflow: info.additionalInfo?.workflow ?? "",
        database: info.databaseId,
        folder: info.additionalInfo?.folderId ?? "",
      };
      this.total.value = total;
      this.isComplete = items.length >= total;
      const topics = items.map((/** @type {any} */ item) => ({ kind: "topic", id: item.info.id, position: item.position, name: item.info.name }));
      this.#keepTopics(topics.map((/** @type {TopicLine} */ { id }) => id));
      this.lines.value = inOrder(/** @type {TopicLine[]} */ (topics), dividers, this.isComplete);
      return info.revision;
    };
  }

  /**
   * Reads the topics that are new, and lets go of those that have left.
   * @param {string[]} loids
   */
  #keepTopics(loids) {
    const before = this.topics.now;
    const wanted = new Set(loids);
    for (const [loid, topic] of before) {
      if (wanted.has(loid)) continue;
      this.#followed.delete(topic);
      this.#ends.get(topic)?.();
      this.#ends.delete(topic);
    }
    this.topics.value = new Map(loids.map((loid) => [loid, before.get(loid) ?? this.#newTopic(loid)]));
    for (const topic of this.topics.now.values()) {
      if (this.#followed.has(topic)) continue;
      if (this.#followed.size < FOLLOWED) {
        this.#followed.add(topic);
        topic.open();
      } else if (topic.state.now === "loading") {
        topic.read();
      }
    }
  }

  /** @param {string} loid */
  #newTopic(loid) {
    const topic = new Topic(loid, false);
    // The plan is not told when a topic gets into the recycle bin.
    const stop = effect(() => void (topic.state.value === "gone" && this.read()));
    this.#ends.set(topic, () => (stop(), topic.close()));
    return topic;
  }

  /** @override */
  close() {
    for (const end of this.#ends.values()) end();
    super.close();
  }

  /** Reads further topics. */
  readMore() {
    this.#most += PAGE;
    this.read();
  }

  /**
   * @template T
   * @param {(lines: Line[]) => Line[]} expected
   * @param {() => Promise<T>} change
   */
  #changeLines(expected, change) {
    return this.change(() => (this.lines.value = expected(this.lines.now)), change);
  }

  /**
   * Adds a topic.
   * @param {string} topic A loid, uuid or path.
   * @param {number} [position] Its place; without it, the end.
   */
  async add(topic, position) {
    const parts = { plan: this.loid, topic };
    const body = position === undefined ? {} : { position };
    await this.change(() => {}, () => call("PUT", `${PLAN}/add/{topic}`, { parts, body }));
  }

  /**
   * Makes a new topic in the folder of the plan, and adds it.
   * @param {{ title: string, description: string, template: string }} input The template is empty for none, `default`,
   *   or a loid.
   * @returns {Promise<string>} Its loid.
   */
  async makeTopic({ title, description, template }) {
    const loid = await make("v3/container/topic", template, { title, description, folder: this.info.now.folder || undefined });
    await this.add(loid);
    return loid;
  }

  /** @param {string} topic */
  async remove(topic) {
    const parts = { plan: this.loid, topic };
    const without = (/** @type {Line[]} */ lines) => lines.filter(({ id }) => id !== topic);
    await this.#changeLines(without, () => call("DELETE", `${PLAN}/delete/{topic}`, { parts }));
  }

  /**
   * Moves a line.
   * @param {Line} line
   * @param {number} to Its index among the others.
   */
  async moveLine(line, to) {
    const parts = { plan: this.loid, line: line.id };
    const body = { position: to >= this.lines.now.length - 1 && this.isComplete ? -1 : to };
    const path = line.kind === "topic" ? `${PLAN}/add/{line}` : `${PLAN}/divider/{line}`;
    await this.#changeLines((lines) => placed(lines, line.id, to), () => call("PUT", path, { parts, body }));
  }

  /**
   * Moves a topic into another plan; it leaves all others.
   * @param {string} topic
   * @param {string} target
   */
  async moveInto(topic, target) {
    const body = { sources: [topic], target, position: -1 };
    await this.change(() => {}, () => call("PUT", "v3/container/topic/move", { body }));
  }

  /** @param {string} status */
  async setStatus(status) {
    const parts = { source: this.loid };
    await this.change(() => {}, () => call("POST", "v3/object/{source}/status", { parts, body: { status } }));
  }

  /**
   * @param {string} title
   * @param {number} [position]
   */
  async addDivider(title, position) {
    const body = { title, position };
    await this.change(() => {}, () => call("POST", `${PLAN}/divider`, { parts: { plan: this.loid }, body }));
  }

  /**
   * @param {Divider} divider
   * @param {string} title
   */
  async renameDivider(divider, title) {
    const parts = { plan: this.loid, divider: divider.id };
    await this.change(() => {}, () => call("PUT", `${PLAN}/divider/{divider}`, { parts, body: { title } }));
  }

  /** @param {Divider} divider */
  async removeDivider(divider) {
    const parts = { plan: this.loid, divider: divider.id };
    const without = (/** @type {Line[]} */ lines) => lines.filter(({ id }) => id !== divider.id);
    await this.#changeLines(without, () => call("DELETE", `${PLAN}/divider/{divider}`, { parts }));
  }
}

/**
 * Makes a topic or a plan.
 * @param {string} path
 * @param {string} template Empty for none, `default`, or a loid.
 * @param {{ title: string, description: string, folder: string | undefined }} body
 * @returns {Promise<string>} Its loid.
 */
async function make(path, template, { title, description, folder }) {
  const name = title.replace(/[/\p{Cc}]/gu, " ").trim().slice(0, LONGEST_NAME) || undefined;
  const body = { title, description: description || undefined, name, folder, createMode: "AUTO_RENAME" };
  const from = template === "" ? "" : template === "default" ? "/from/template" : "/from/template/{template}";
  const { result } = await call("POST", path + from, { parts: { template }, body });
  return result.info.id;
}

/** The characters of a title that are used in the name, which has at most 255 bytes. */
const LONGEST_NAME = 60;

/**
 * Makes a plan.
 * @param {{ title: string, description: string, template: string, folder: string | undefined }} input
 */
export const makePlan = ({ template, ...body }) => make("v3/container/topicplan", template, body);
