// The messages of a user, and what people do with them.

import { call } from "../api/calls.js";
import { countMessages } from "../api/people.js";
import { Signal } from "../lib/view.js";
import { entryOf } from "../parts/entry.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */
/** @typedef {"inbox" | "outbox"} BoxName */
/** @typedef {"low" | "normal" | "high"} Priority */

/**
 * @typedef {object} Message
 * @property {string} id
 * @property {string} subject
 * @property {string} body
 * @property {string} sender
 * @property {string[]} recipients
 * @property {number} sent Epoch milliseconds.
 * @property {boolean} isRead
 * @property {Priority} priority
 * @property {Entry[]} attachments
 */

/** The messages that are read at once, and by how many more each time. */
const PAGE = 50;

const DISPLAY = { showSystemAttributes: false, showUsageTickets: false };

/** An inbox or outbox on the screen. */
export class Box {
  /** @type {Signal<Message[]>} The newest first. */
  messages = new Signal(/** @type {Message[]} */ ([]));
  total = new Signal(0);
  /** Whether it has been read. */
  isThere = new Signal(false);
  #most = PAGE;

  /** @param {BoxName} name */
  constructor(name) {
    this.name = name;
  }

  /** Reads the newest messages. */
  async read() {
    const query = { ...DISPLAY, limit: this.#most };
    const { result } = await call("GET", `v3/message/${this.name}`, { query });
    this.messages.value = result.items.map(messageOf);
    this.total.value = result.total;
    this.isThere.value = true;
  }

  /** Reads further messages. */
  readMore() {
    this.#most += PAGE;
    return this.read();
  }

  /** @param {Message} message */
  async markRead(message) {
    if (this.name !== "inbox" || message.isRead) return;
    await call("PUT", "v3/message/{message}/read", { parts: { message: message.id } });
    this.messages.value = this.messages.now.map((one) => (one.id === message.id ? { ...one, isRead: true } : one));
    await countMessages();
  }

  /** @param {Message} message */
  async remove(message) {
    await call("DELETE", "v3/message/{message}", { parts: { message: message.id } });
    this.messages.value = this.messages.now.filter(({ id }) => id !== message.id);
    this.total.value -= 1;
    await countMessages();
  }
}

/**
 * @param {any} item
 * @returns {Message}
 */
const messageOf = (item) => ({
  id: item.id,
  subject: item.subject,
  body: item.body,
  sender: item.sender,
  recipients: item.recipients,
  sent: item.sent * 1000,
  isRead: item.read,
  priority: item.priority,
  attachments: item.attachments.map((/** @type {any} */ record) => entryOf(record)),
});

/**
 * Sends a message.
 * @param {{ recipients: string[], subject: string, body: string, priority: Priority, attachments: string[] }} message
 */
export async function send(message) {
  await call("POST", "v3/message/sendmail", { body: message });
}

/**
 * The names of all groups.
 * @returns {Promise<string[]>}
 */
export const groups = () => call("GET", "conf/group/list").then(({ result }) => result);

/**
 * What an object is called.
 * @param {string} source A loid, uuid or path.
 * @returns {Promise<{ id: string, title: string }>}
 */
export async function attachmentOf(source) {
  const { id, title } = entryOf((await call("GET", "v3/object/{source}", { parts: { source } })).result);
  return { id, title };
}
