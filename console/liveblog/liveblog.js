// A live blog on the screen, and the changes that people make here.

import { SERVER, address, call } from "../api/calls.js";
import { OpenContainer } from "../api/container.js";
import { Signal } from "../lib/view.js";
import { entryOf } from "../parts/entry.js";
import { showText, writeText } from "./text.js";

/** @typedef {"pending" | "approved" | "rejected" | "deleted"} Status */
/** @type {Status[]} */
export const STATUSES = ["pending", "approved", "rejected", "deleted"];

/**
 * @typedef {object} Post
 * @property {string} id
 * @property {number} revision The live blog's at the post's last change.
 * @property {Status} status
 * @property {string} title
 * @property {string} text
 * @property {{ address: string, alt: string }[]} pictures
 * @property {string | null} content As it is stored.
 * @property {string} contentType
 * @property {{ id: string, name: string }[]} attachments
 * @property {number} timestamp
 * @property {string} author
 * @property {boolean} isPinned
 * @property {string[]} tags
 */

/** The posts that are read at once, and by how many more each time. */
const PAGE = 30;

const PLAIN = {
  showAttributes: false,
  showSystemAttributes: false,
  showUsageTickets: false,
};

export class LiveBlog extends OpenContainer {
  title = new Signal("");
  isModerated = new Signal(false);
  counts = new Signal({ pending: 0, approved: 0, rejected: 0, deleted: 0 });
  /** The posts of the chosen status, as far as they are read. @type {Signal<Post[]>} */
  posts = new Signal([]);
  total = new Signal(0);
  /** The address of its page for readers; null if it has none. @type {Signal<string | null>} */
  publicAddress = new Signal(/** @type {string | null} */ (null));
  /** @type {Signal<Status>} */
  chosen = new Signal("approved");
  #most = PAGE;

  /** @override */
  async fetch() {
    const status = this.chosen.now;
    const body = { filters: { status: [status] }, limit: this.#most, options: PLAIN };
    const parts = { blog: this.loid };
    const { result } = await call("POST", "v3/container/liveblog/{blog}", { parts, body, isRead: true });
    return () => {
      const { info, items, total, revision } = result;
      this.title.value = info.title || this.#headline || info.name;
      this.isModerated.value = info.moderated;
      this.counts.value = info.postCounts;
      this.total.value = total;
      const known = new Map(this.posts.now.map((post) => [post.id, post]));
      this.posts.value = items.map((/** @type {any} */ item) => {
        const old = known.get(item.info.id);
        return old?.revision === item.info.revision ? old : this.#post(item);
      });
      if (this.#headline === null) {
        this.#readHeadline();
        // Without it the page shows no address, which is what it shows of most live blogs.
        this.#readPublicAddress().catch(() => {});
      }
      return revision;
    };
  }

  /** @type {string | null} */
  #headline = null;

  /** Reads the headline, which stands in the attributes. */
  async #readHeadline() {
    this.#headline = "";
    const { result } = await call("GET", "v3/object/{blog}", { parts: { blog: this.loid } });
    this.#headline = entryOf(result).title;
    this.title.value = this.#headline;
  }

  /** Reads whether readers have a page of it, which follows from its place alone. */
  async #readPublicAddress() {
    const { result } = await call("GET", "v3/container/liveblog/{blog}/public", { parts: { blog: this.loid } });
    this.publicAddress.value = result.address === null ? null : new URL(result.address, SERVER).href;
  }

  /**
   * @param {any} item
   * @returns {Post}
   */
  #post(item) {
    const { info, status, title, content, timestamp, author, pinned, tags, attachments } = item;
    const contentType = info.virtualAttributes?.contentType ?? "";
    const { text, pictures } = showText(content, contentType);
    const alts = new Map(pictures.map(({ name, alt }) => [name, alt]));
    const shown = attachments.filter((/** @type {any} */ one) => /^image\//.test(one.contentType));
    return {
      id: info.id,
      revision: info.revision,
      status,
      title,
      text,
      pictures: shown.map((/** @type {any} */ one) => ({
        address: this.#attachment(info.id, one.id),
        alt: alts.get(one.name) ?? "",
      })),
      content,
      contentType,
      attachments: attachments.map((/** @type {any} */ { id, name }) => ({ id, name })),
      timestamp,
      author,
      isPinned: pinned,
      tags,
    };
  }

  /**
   * @param {string} post
   * @param {string} id
   */
  #attachment(post, id) {
    const parts = { blog: this.loid, post, id };
    return address("v3/container/liveblog/{blog}/post/{post}/attachment/{id}", parts).href;
  }

  /**
   * Shows the posts of another status.
   * @param {Status} status
   */
  choose(status) {
    this.chosen.value = status;
    this.#most = PAGE;
    this.read();
  }

  /** Reads further posts. */
  readMore() {
    this.#most += PAGE;
    this.read();
  }

  /**
   * Adds a post, or changes one.
   * @param {Post | null} post The post to change.
   * @param {{ title: string, text: string, pictures: { file: File, alt: string }[], isSource: boolean, isPending: boolean }} input
   *   With `isSource`, the text is the content itself.
   * @returns {Promise<{ status: Status, formerStatus: Status | null, visibleToReaders: boolean }>}
   */
  async write(post, { title, text, pictures, isSource, isPending }) {
    const form = new FormData();
    const options = { title, ...(isPending && !post ? { moderated: true } : {}) };
    form.append("options", JSON.stringify(options));
    const named = pictures.map(({ file, alt }, index) => ({ file, alt, name: nameOf(file, index) }));
    const kept = post && !isSource ? showText(post.content, post.contentType).pictures : [];
    const isPlain = post !== null && /^text\/plain/.test(post.contentType) && named.length === 0;
    const content = isSource || isPlain ? text : writeText({ text, pictures: [...kept, ...named] });
    const type = post && (isSource || isPlain) ? post.contentType : "text/xml";
    form.append("content", new Blob([content], { type }), "post.xml");
    for (const { file, name } of named) form.append("attachments", file, name);
    const parts = { blog: this.loid, post: post?.id ?? "" };
    const { result } = await this.change(
      () => {},
      () =>
        post
          ? call("PUT", "v3/container/liveblog/{blog}/post/{post}", { parts, form })
          : call("POST", "v3/container/liveblog/{blog}/post", { parts, form }),
    );
    return result;
  }

  /**
   * Changes the status of posts, or removes them for good.
   * @param {Post[]} posts
   * @param {"approve" | "reject" | "pending" | "delete" | "remove"} what
   */
  async setStatus(posts, what) {
    const gone = new Set(posts);
    const parts = { blog: this.loid, what };
    const body = posts.map(({ id }) => id);
    const { result } = await this.change(
      () => (this.posts.value = this.posts.now.filter((post) => !gone.has(post))),
      () =>
        what === "remove"
          ? call("DELETE", "v3/container/liveblog/{blog}/posts", { parts, body })
          : call("POST", "v3/container/liveblog/{blog}/posts/{what}", { parts, body }),
    );
    return /** @type {{ code: string, message: string }[]} */ (result.errors);
  }

  /**
   * Pins posts, or unpins them.
   * @param {Post[]} posts
   * @param {boolean} pinned
   */
  async pin(posts, pinned) {
    const body = { sources: posts.map(({ id }) => id), pinned };
    const parts = { blog: this.loid };
    const { result } = await this.change(() => {}, () => call("PUT", "v3/container/liveblog/{blog}/posts", { parts, body }));
    return /** @type {{ code: string, message: string }[]} */ (result.errors);
  }

  /**
   * Moves a post before or behind its neighbour, by its time, which the order follows.
   * @param {Post} post
   * @param {-1 | 1} by
   */
  async shift(post, by) {
    const { now } = this.posts;
    const other = now[now.indexOf(post) + by];
    if (!other || other.isPinned !== post.isPinned) return;
    const form = new FormData();
    form.append("options", JSON.stringify({ timestamp: other.timestamp - by }));
    const parts = { blog: this.loid, post: post.id };
    await this.change(() => {}, () => call("PUT", "v3/container/liveblog/{blog}/post/{post}", { parts, form }));
  }
}

/**
 * The name of a picture within its post. Pictures from the clipboard all have the same.
 * @param {File} file
 * @param {number} index
 */
function nameOf(file, index) {
  const name = file.name.replace(/[/\\\p{Cc}]/gu, "_") || "picture";
  return `${Date.now().toString(36)}-${index}-${name}`.slice(-120);
}
