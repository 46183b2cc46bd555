// A container on the screen, in its state on the server, with those who work in it.

import { Signal } from "../lib/view.js";
import { CallError, call } from "./calls.js";
import { follow } from "./events.js";

/** @typedef {{ user: string, state: string, part?: string, field?: string }} Present */
/** @typedef {{ user: string, kind: string, ids: string[], at: number }} Change */

/** How long a change is marked at its part, in milliseconds. */
const MARKED = 6000;

/** The shortest time from one reading to the next, in milliseconds. */
const GAP = 80;

/** The wait after a reading that has failed, in milliseconds. */
const WAIT = 3000;

/** The number of changes that are listed. */
const CHANGES = 50;

/**
 * A container that is followed and read again after each of its changes. A class for each family reads and changes it.
 */
export class OpenContainer {
  /** @type {Signal<"loading" | "there" | "gone">} */
  state = new Signal("loading");
  /** @type {Signal<Present[]>} Everybody who is here, this session included. */
  present = new Signal([]);
  /** @type {Signal<Change[]>} The newest first. */
  changes = new Signal([]);
  /** @type {Signal<Map<string, Change>>} The last change of a part, by loid, for a while. */
  marks = new Signal(new Map());
  /** Changes of others that wait until a part is no longer held here. */
  waiting = new Signal(0);

  /** The revision that is shown. */
  revision = 0;
  /** The highest revision that an event has named. */
  #announced = 0;
  /** The number of parts that are held here. */
  #holds = 0;
  /** The number of changes that are shown although the server has not answered yet. */
  #expected = 0;
  #reading = false;
  /** Whether a reading that began earlier may be outdated. */
  #again = false;
  #stop = () => {};
  #isOpen = true;
  /** Whether others are told that this session is here. */
  #isSeen;

  /**
   * @param {string} loid
   * @param {boolean} [isSeen] Whether others are told that this session is here.
   */
  constructor(loid, isSeen = true) {
    this.loid = loid;
    this.#isSeen = isSeen;
  }

  /** Begins to follow it. */
  open() {
    this.#stop = follow(this.loid, (message) => this.#receive(message));
    this.read();
  }

  close() {
    this.#isOpen = false;
    this.#stop();
    if (this.#isSeen) this.#tellPresence("away").catch(() => {});
  }

  /**
   * Tells others that this session is here now, or no longer.
   * @param {boolean} isSeen
   */
  see(isSeen) {
    if (this.#isSeen === isSeen) return;
    this.#isSeen = isSeen;
    this.#tellPresence(isSeen ? "viewing" : "away").catch(() => {});
  }

  /**
   * Reads the state on the server.
   * @returns {Promise<(() => number)>} What shows it, and returns its revision.
   */
  async fetch() {
    throw new Error("a container can be read");
  }

  /** Whether something else is shown than the server has. */
  get #isBusy() {
    return this.#holds + this.#expected > 0;
  }

  /** @param {import("./stream.js").Message} message */
  #receive(message) {
    if (message.kind === "following") {
      this.read();
      if (this.#isSeen) this.#tellPresence("viewing").catch(() => {});
    } else if (message.kind === "presence") {
      this.present.value = message.present;
    } else if (message.kind === "crowded" || message.kind === "unfollowed" || message.kind === "refused" || (message.kind === "object.discard" && message.ids?.includes(this.loid))) {
      this.read();
    } else if (typeof message.revision === "number") {
      this.#changed(message);
    }
  }

  /** @param {import("./stream.js").Message} message */
  #changed(message) {
    if (message.user) {
      const { user, kind, ids, at } = message;
      const change = /** @type {Change} */ ({ user, kind, ids, at });
      this.changes.value = [change, ...this.changes.now].slice(0, CHANGES);
      this.#mark(change);
    }
    this.#announced = Math.max(this.#announced, message.revision);
    if (message.kind === "reset" || message.revision > this.revision) {
      if (this.#holds > 0) this.waiting.value += 1;
      this.read();
    }
  }

  /** @param {Change} change */
  #mark(change) {
    const parts = change.ids.filter((id) => id.includes("$"));
    if (parts.length === 0) return;
    for (const part of parts) this.marks.now.set(part, change);
    this.marks.changed();
    setTimeout(() => {
      for (const part of parts) {
        if (this.marks.now.get(part) === change) this.marks.now.delete(part);
      }
      this.marks.changed();
    }, MARKED);
  }

  /** Reads it, now or as soon as the reading that is under way has ended. */
  async read() {
    this.#again = true;
    if (this.#reading || this.#isBusy || !this.#isOpen) return;
    this.#reading = true;
    try {
      while (this.#again && !this.#isBusy && this.#isOpen) {
        this.#again = false;
        const begun = performance.now();
        await this.#readOnce();
        // A large container that is changed all the time must leave time for everything else.
        await new Promise((resolve) => setTimeout(resolve, Math.max(GAP, performance.now() - begun)));
      }
    } finally {
      this.#reading = false;
    }
  }

  async #readOnce() {
    try {
      const show = await this.fetch();
      if (this.#isBusy) {
        this.#again = true;
        return;
      }
      this.revision = show();
      this.state.value = "there";
      if (this.#announced > this.revision) this.#again = true;
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (error.status === 404 || error.status === 403) this.state.value = "gone";
      // While the server can't be reached the last state stays. The stream says when it is there again.
      else if (error.status !== 401) setTimeout(() => this.read(), WAIT);
    }
  }

  /**
   * Keeps changes of others off the screen while a part is held. Returns a function that ends this.
   * @param {string} part The part that is held, which others are told; empty for one that has no loid.
   * @param {string} field What is changed of it.
   */
  hold(part, field) {
    this.#holds += 1;
    const end = part ? this.edit(part, field) : () => {};
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds -= 1;
      end();
      if (this.#holds > 0) return;
      this.waiting.value = 0;
      if (this.#again) this.read();
    };
  }

  /**
   * Tells others that a part is changed here. Returns a function that ends this.
   * @param {string} part
   * @param {string} field
   */
  edit(part, field) {
    this.#tellPresence("editing", part, field).catch(() => {});
    return () => void this.#tellPresence("away", part, field).catch(() => {});
  }

  /**
   * Tells others what this session does here. A session has a sign for each part that it changes, and one for the
   * container.
   * @param {"viewing" | "editing" | "away"} state
   * @param {string} [part]
   * @param {string} [field]
   */
  async #tellPresence(state, part, field) {
    const body = { container: this.loid, state, part, field };
    const { result } = await call("POST", "v3/presence", { body });
    if (this.#isOpen) this.present.value = result.present;
  }

  /** Repeats that this session is here; called every 20 seconds. */
  stay() {
    if (this.#isSeen && this.state.now === "there") this.#tellPresence("viewing").catch(() => {});
  }

  /**
   * Makes a change. What it should lead to is shown at once, and the server's state afterwards, whether it has accepted
   * the change or not.
   * @template T
   * @param {() => void} expect Shows what is expected.
   * @param {() => Promise<T>} change
   * @returns {Promise<T>}
   */
  async change(expect, change) {
    expect();
    this.#expected += 1;
    try {
      return await change();
    } finally {
      this.#expected -= 1;
      this.read();
    }
  }
}
