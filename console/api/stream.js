// The stream of events of all containers that the open pages show. It runs in a shared worker, so that all tabs
// together need one connection (docs/api/events.md, "Several containers on one connection").

/**
 * What a page is sent: an event of a container, or one of these kinds.
 * - `following`: the containers of the page are followed from now on; read them.
 * - `lost`: the connection is interrupted. `found`: it is there again.
 * - `login`: the session has ended.
 * - `refused`: `container` can't be followed.
 * - `crowded`: the stream has no room for the containers of the page; read them. Repeated until there is room.
 * @typedef {{ kind: string, container?: string, [name: string]: any }} Message
 */

/** A page: how it is told. @typedef {(message: Message) => void} Page */

/**
 * The kinds of events that a stream is asked for: an EventSource passes on only those that have a listener
 * (docs/api/audit.md, "Kinds of changes").
 */
const KINDS = [
  "hello",
  "reset",
  "hidden",
  "removed",
  "unfollowed",
  "presence",
  "bundle.channelcopy",
  "drawer.item.add",
  "drawer.item.clear",
  "drawer.item.delete",
  "drawer.item.move",
  "drawer.item.position",
  "drawer.shortcut.position",
  "drawer.update",
  "liveblog.post.add",
  "liveblog.post.remove",
  "liveblog.post.status",
  "liveblog.post.update",
  "object.change_fields",
  "object.content.rewrite",
  "object.content.write",
  "object.correlate",
  "object.create",
  "object.destroy",
  "object.discard",
  "object.lock",
  "object.lock.release",
  "object.move",
  "object.purge",
  "object.rename",
  "object.restore",
  "object.status",
  "object.uncorrelate",
  "object.unlock",
  "object.version.restore",
  "topic.divider.add",
  "topic.divider.remove",
  "topic.divider.update",
  "topic.item.add",
  "topic.item.attach",
  "topic.item.move",
  "topic.item.remove",
  "topic.item.update",
  "topic.update",
  "topicplan.divider.add",
  "topicplan.divider.remove",
  "topicplan.divider.update",
  "topicplan.topic.add",
  "topicplan.topic.move",
  "topicplan.topic.remove",
];

/** The longest wait before the next attempt to connect, in milliseconds. */
const LONGEST_WAIT = 15_000;

/** How often a page reads its containers if the stream has no room for them, in milliseconds. */
const CROWDED = 5000;

export class Stream {
  /** @type {Map<Page, string[]>} The containers that each page shows. */
  #pages = new Map();
  /** @type {EventSource | null} */
  #source = null;
  /** The name by which the open stream is changed; empty while none is open. */
  #name = "";
  #last = "";
  #wait = 500;
  #isLost = false;
  #turn = Promise.resolve();

  /** @param {URL} server */
  constructor(server) {
    this.server = server;
  }

  /**
   * Sets the containers that a page shows.
   * @param {Page} page
   * @param {string[]} containers
   */
  show(page, containers) {
    if (containers.length === 0) this.#pages.delete(page);
    else this.#pages.set(page, containers);
    if (this.#pages.size === 0) return this.#close();
    this.#open();
    this.#change(page);
  }

  #close() {
    this.#source?.close();
    this.#source = null;
    this.#name = this.#last = "";
  }

  #open() {
    if (this.#source && this.#source.readyState !== EventSource.CLOSED) return;
    const url = new URL("v3/events", this.server);
    if (this.#last) url.searchParams.set("lastEventId", this.#last);
    const source = new EventSource(url);
    this.#source = source;
    source.addEventListener("stream", ({ data }) => {
      this.#name = JSON.parse(data).stream;
      this.#wait = 500;
      if (this.#isLost) this.#tell({ kind: "found" });
      this.#isLost = false;
      for (const page of this.#pages.keys()) this.#change(page);
    });
    for (const kind of KINDS) {
      source.addEventListener(kind, ({ data, lastEventId }) => {
        this.#last = lastEventId || this.#last;
        this.#tell({ ...JSON.parse(data), kind });
      });
    }
    source.onerror = () => this.#failed(source);
  }

  /** @param {string} name The stream that has ended. */
  #reopen(name) {
    if (name !== this.#name) return;
    this.#source?.close();
    this.#name = "";
    this.#open();
  }

  /** @param {EventSource} source */
  async #failed(source) {
    if (source !== this.#source) return;
    this.#name = "";
    if (!this.#isLost) this.#tell({ kind: "lost" });
    this.#isLost = true;
    if (source.readyState !== EventSource.CLOSED) return;
    // A source does not tell the status of the reply.
    const status = await fetch(source.url, { method: "HEAD" }).then((reply) => reply.status, () => 0);
    if (status === 400) this.#last = "";
    if (status === 401) {
      this.#tell({ kind: "login" });
      return this.#close();
    }
    setTimeout(() => source === this.#source && this.#open(), this.#wait);
    this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT);
  }

  /** @param {Message} message */
  #tell(message) {
    for (const [page, containers] of this.#pages) {
      if (message.container === undefined || containers.includes(message.container)) page(message);
    }
  }

  /**
   * Makes the open stream follow what the page shows. One change is sent after the other.
   * @param {Page} page
   */
  #change(page) {
    this.#turn = this.#turn.then(() => this.#send(page).catch(() => {}));
  }

  /** @param {Page} page */
  async #send(page) {
    const name = this.#name;
    const containers = this.#pages.get(page);
    if (!name || !containers) return;
    const follow = containers.map((container) => ({ container }));
    const reply = await this.#post(name, { follow, unfollow: [] });
    if (reply.status >= 500) return void setTimeout(() => this.#change(page), this.#wait);
    // The stream has ended, although its connection may seem to be open: a proxy may hide the end.
    if (reply.status === 404 && reply.result.source === name) return this.#reopen(name);
    if (reply.status !== 200) return this.#refused(page, containers, reply.result.source);
    page({ kind: "following" });
    const shown = new Set([...this.#pages.values()].flat());
    const unfollow = reply.result.containers.filter((/** @type {string} */ loid) => !shown.has(loid));
    if (unfollow.length > 0) await this.#post(name, { follow: [], unfollow });
  }

  /**
   * Follows the others: a container that is not there, or may not be read, refuses the call for all. A refusal that
   * names none of them means that they are too many, with those of other pages.
   * @param {Page} page
   * @param {string[]} containers
   * @param {string | undefined} source The refused one.
   */
  #refused(page, containers, source) {
    const others = containers.filter((container) => container !== source);
    if (others.length === containers.length) {
      page({ kind: "crowded" });
      return void setTimeout(() => this.#change(page), CROWDED);
    }
    page({ kind: "refused", container: source });
    this.#pages.set(page, others);
    this.#change(page);
  }

  /**
   * @param {string} name
   * @param {unknown} body
   */
  async #post(name, body) {
    const url = new URL(`v3/events/${encodeURIComponent(name)}`, this.server);
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    try {
      const reply = await fetch(url, init);
      return { status: reply.status, result: (await reply.json()).result };
    } catch {
      return { status: 503, result: {} };
    }
  }
}

// As a shared worker: this file lies at console/assets-…/api/ below the server's address.
if ("onconnect" in globalThis) {
  const stream = new Stream(new URL("../../..", import.meta.url));
  addEventListener("connect", (event) => {
    const [port] = /** @type {MessageEvent} */ (event).ports;
    const page = (/** @type {unknown} */ message) => port.postMessage(message);
    port.onmessage = ({ data }) => stream.show(page, data);
  });
}
