// The page of a live blog: what is written, what waits for approval, and what readers see.

import { call, partsOfAddress } from "../api/calls.js";
import { fullName, user } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { entryOf } from "../parts/entry.js";
import { openMenu } from "../parts/menu.js";
import { copy, notify, notifyFault, say } from "../parts/notices.js";
import { besideName, icon, personMark } from "../parts/signs.js";
import { ago, explain, moment, text } from "../text/index.js";
import { PostComposer } from "./composer.js";
import { LiveBlog, STATUSES } from "./liveblog.js";
import { paragraphsOf } from "./text.js";

/** @typedef {import("./liveblog.js").Post} Post */
/** @typedef {"approve" | "reject" | "pending" | "delete" | "remove"} Deed */

/** The time between two signs that this session is here, in milliseconds. */
const SIGN = 20_000;

class LiveBlogPage extends View {
  /** @type {Signal<LiveBlog | null>} */
  #blog = new Signal(/** @type {LiveBlog | null} */ (null));
  /** All live blogs that the user may read. @type {Signal<{ id: string, title: string }[]>} */
  #known = new Signal(/** @type {{ id: string, title: string }[]} */ ([]));
  /** Whether the posts are shown as readers see them. */
  #isPreview = new Signal(false);
  /** @type {Signal<Set<string>>} */
  #selected = new Signal(new Set());
  /** Whether a pointer or the focus is in the list, whose order then stays. */
  #isTouched = false;
  /** The order of the posts that are shown. @type {string[]} */
  #order = [];

  begin() {
    const signs = setInterval(() => this.#blog.now?.stay(), SIGN);
    this.during(() => clearInterval(signs));
    this.during(() => this.#blog.now?.close());
    const follow = () => this.#open();
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    this.#start().catch(notifyFault);
  }

  async #start() {
    this.#open();
    const query = { families: "liveblog", sort: "modified", limit: 100, highlight: false };
    const { result } = await call("GET", "v3/search", { query });
    this.#known.value = result.items.map((/** @type {any} */ item) => entryOf(item));
    // The one in which most has happened.
    const busiest = result.items.toSorted((/** @type {any} */ one, /** @type {any} */ other) => other.revision - one.revision)[0];
    const isHere = this.isConnected && partsOfAddress()[0] === "liveblog";
    if (!this.#blog.now && busiest && isHere) location.replace(`#/liveblog/${busiest.id}`);
  }

  /** Opens the live blog that the address names. */
  #open() {
    const [page, loid] = partsOfAddress();
    const before = this.#blog.now;
    if (page !== "liveblog" || !loid || before?.loid === loid) return;
    before?.close();
    this.#order = [];
    this.#selected.value = new Set();
    const blog = new LiveBlog(loid);
    this.#blog.value = blog;
    blog.open();
  }

  template() {
    const blog = this.#blog.value;
    const known = this.#known.value;
    return html`
      <div class="liveblog">
        <div class="toolbar">
          <h1>${blog?.title.value || text().liveblogs}</h1>
          <label class="chooser"><span class="unseen">${text().chooseLiveblog}</span>
            <select @change=${(/** @type {Event} */ event) => (location.hash = `#/liveblog/${/** @type {HTMLSelectElement} */ (event.target).value}`)}>
              ${known.map(({ id, title }) => html`<option value=${id} ?selected=${id === blog?.loid}>${title}</option>`)}
            </select></label>
          <span class="gap"></span>
          ${blog ? this.#people(blog) : ""}
        </div>
        ${blog ? this.#body(blog) : html`<div class="nothing"><p><b>${text().noLiveblogs}</b></p></div>`}
      </div>`;
  }

  /** @param {LiveBlog} blog */
  #people(blog) {
    const names = new Set(blog.present.value.map((one) => one.user).filter((name) => name !== user.value?.name));
    return html`<span class="people" role="group" aria-label=${text().whoIsHere}>${keyed(names, (name) => name, personMark)}</span>`;
  }

  /** @param {LiveBlog} blog */
  #body(blog) {
    if (blog.state.value === "gone") return html`<div class="nothing"><p>${text().liveblogGone}</p></div>`;
    const counts = blog.counts.value;
    const chosen = blog.chosen.value;
    const isPreview = this.#isPreview.value;
    const choose = (/** @type {import("./liveblog.js").Status} */ status, /** @type {boolean} */ preview) => {
      this.#isPreview.value = preview;
      this.#order = [];
      this.#selected.value = new Set();
      blog.choose(status);
    };
    return html`
      <div class="stream" data-scrolls>
        ${blog.publicAddress.value ? this.#public(blog.publicAddress.value) : ""}
        ${keyed([blog], ({ loid }) => loid, () => html`<post-composer .blog=${blog}></post-composer>`)}
        <div class="tabs" role="group" aria-label=${text().status}>
          ${STATUSES.map((status) => html`
            <button aria-pressed=${String(!isPreview && chosen === status)} @click=${() => choose(status, false)}>
              ${text().statuses[status]} <b>${counts[status]}</b></button>`)}
          <button aria-pressed=${String(isPreview)} @click=${() => choose("approved", true)}>${text().asReaders}</button>
        </div>
        ${isPreview ? this.#preview(blog) : this.#list(blog)}
        ${blog.total.value > blog.posts.value.length ? html`
          <button class="more" @click=${() => blog.readMore()}>${text().showMore}</button>` : ""}
      </div>`;
  }

  /** @param {string} address */
  #public(address) {
    return html`
      <p class="public"><span>${text().publicAt}</span>
        <a href=${address} target="_blank" rel="noopener">${address.replace(/^https?:\/\//, "")}</a>
        <button @click=${() => void copy(address)}>${text().copyAddress}</button></p>`;
  }

  /** @param {LiveBlog} blog */
  #preview(blog) {
    return html`<ol class="readers">${keyed(blog.posts.value, ({ id }) => id, (post) => html`
      <li><p class="facts"><time title=${moment(post.timestamp)}>${ago(post.timestamp)}</time> ${fullName(post.author)}</p>
        <h2>${post.title}</h2>${paragraphsOf(post.text).map((one) => html`<p>${one}</p>`)}
        ${post.pictures.map(({ address, alt }) => html`<img loading="lazy" alt=${alt} src=${address}>`)}</li>`)}</ol>`;
  }

  /**
   * The posts in the order in which they are shown: while somebody is in the list, its posts stay where they are, and
   * new ones wait.
   * @param {Post[]} posts
   */
  #arranged(posts) {
    const now = new Map(posts.map((post) => [post.id, post]));
    if (this.#isTouched && this.#order.length > 0) this.#order = this.#order.filter((id) => now.has(id));
    else this.#order = [...now.keys()];
    const shown = /** @type {Post[]} */ (this.#order.map((id) => now.get(id)));
    return { shown, fresh: posts.length - shown.length };
  }

  /** @param {boolean} isTouched */
  #touch(isTouched) {
    if (this.#isTouched === isTouched) return;
    this.#isTouched = isTouched;
    if (!isTouched) this.changed();
  }

  /** @param {LiveBlog} blog */
  #list(blog) {
    const { shown, fresh } = this.#arranged(blog.posts.value);
    const selected = shown.filter(({ id }) => this.#selected.value.has(id));
    if (shown.length === 0 && fresh === 0 && blog.state.value === "there") {
      return html`<div class="nothing"><p><b>${text().noPosts[blog.chosen.value]}</b></p></div>`;
    }
    return html`
      ${selected.length > 0 ? this.#bulk(blog, selected) : ""}
      ${fresh > 0 ? html`<button class="fresh" @click=${() => ((this.#order = []), (this.#isTouched = false), this.changed())}>${text().newPosts(fresh)}</button>` : ""}
      <ol class="posts" @pointerenter=${() => this.#touch(true)} @pointerleave=${() => this.#touch(false)}
        @focusin=${() => this.#touch(true)} @focusout=${() => this.#touch(false)}>
        ${keyed(shown, ({ id }) => id, (post) => this.#card(blog, post))}
      </ol>`;
  }

  /**
   * @param {LiveBlog} blog
   * @param {Post[]} posts
   */
  #bulk(blog, posts) {
    /** @type {[Deed, string][]} */
    const deeds = [["approve", text().approve], ["reject", text().reject], ["pending", text().toQueue], ["delete", text().deletePost]];
    return html`
      <div class="bulk" role="group" aria-label=${text().selected(posts.length)}>
        <b>${text().selected(posts.length)}</b>
        ${deeds.map(([deed, label]) => html`<button @click=${() => void this.#do(blog, posts, deed)}>${label}</button>`)}
        <button @click=${() => void this.#pin(blog, posts, true)}>${text().pin}</button>
        <button @click=${() => void this.#pin(blog, posts, false)}>${text().unpin}</button>
        <button class="plain" @click=${() => (this.#selected.value = new Set())}>${text().cancel}</button>
      </div>`;
  }

  /**
   * @param {LiveBlog} blog
   * @param {Post} post
   */
  #card(blog, post) {
    const hand = blog.present.value.find((one) => one.part === post.id && one.user !== user.value?.name);
    const mark = blog.marks.value.get(post.id);
    const isMarked = hand || (mark && mark.user !== user.value?.name);
    const title = post.title || paragraphsOf(post.text)[0]?.slice(0, 60) || text().untitled;
    return html`
      <li class=${isMarked ? "post marked" : "post"} data-post=${post.id} tabindex="0" aria-label=${title}
        @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event, blog, post)}>
        <input type="checkbox" aria-label=${text().select(title)} .checked=${this.#selected.value.has(post.id)}
          @change=${() => this.#select(post.id)}>
        <div class="body">
          <p class="facts">${besideName(post.author)}<span>${fullName(post.author)}</span>
            <time title=${moment(post.timestamp)}>${ago(post.timestamp)}</time>
            ${post.isPinned ? html`<span class="pinned">${text().pinned}</span>` : ""}
            ${post.tags.map((tag) => html`<span class="tag">${tag}</span>`)}</p>
          ${post.title ? html`<h2>${post.title}</h2>` : ""}
          ${paragraphsOf(post.text).slice(0, 4).map((one) => html`<p>${one}</p>`)}
          ${post.pictures.map(({ address, alt }) => html`<img loading="lazy" alt=${alt} src=${address}>`)}
          ${hand ? html`<p class="hand">${besideName(hand.user)}${text().isEdited(fullName(hand.user))}</p>` : ""}
          ${mark && !hand && isMarked ? html`<p class="hand">${besideName(mark.user)}${fullName(mark.user)}: ${text().did[mark.kind] ?? ""}</p>` : ""}
        </div>
        <div class="deeds">
          ${post.status === "pending" || post.status === "rejected" ? html`<button class="primary" @click=${() => void this.#do(blog, [post], "approve")}>${text().approve}</button>` : ""}
          ${post.status === "pending" ? html`<button @click=${() => void this.#do(blog, [post], "reject")}>${text().reject}</button>` : ""}
          <button @click=${() => this.#edit(post)}>${text().edit}</button>
          <button class="plain" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${title}`}
            @click=${(/** @type {Event} */ event) => this.#menu(/** @type {Element} */ (event.currentTarget), blog, post)}>${icon("more")}</button>
        </div>
      </li>`;
  }

  /** @param {string} id */
  #select(id) {
    const selected = new Set(this.#selected.now);
    if (!selected.delete(id)) selected.add(id);
    this.#selected.value = selected;
  }

  /** @param {Post} post */
  #edit(post) {
    const composer = this.querySelector("post-composer");
    if (composer instanceof PostComposer) composer.edit(post);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {LiveBlog} blog
   * @param {Post} post
   */
  #key(event, blog, post) {
    if (!(event.target instanceof HTMLLIElement)) return;
    const card = event.target;
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const next = by > 0 ? card.nextElementSibling : card.previousElementSibling;
    if (by && event.altKey) void this.#shift(blog, post, by === 1 ? 1 : -1);
    else if (by && next instanceof HTMLElement) next.focus();
    else if (event.key === "Enter") this.#menu(/** @type {Element} */ (card.querySelector("[aria-haspopup]")), blog, post);
    else if (event.key === " ") this.#select(post.id);
    else return;
    event.preventDefault();
  }

  /**
   * @param {Element} button
   * @param {LiveBlog} blog
   * @param {Post} post
   */
  #menu(button, blog, post) {
    const act = (/** @type {Deed} */ deed) => () => void this.#do(blog, [post], deed);
    openMenu(button, [
      { label: text().approve, act: act("approve"), isOff: post.status === "approved" },
      { label: text().reject, act: act("reject"), isOff: post.status === "rejected" },
      { label: text().toQueue, act: act("pending"), isOff: post.status === "pending" },
      null,
      { label: text().edit, act: () => this.#edit(post) },
      { label: post.isPinned ? text().unpin : text().pin, act: () => void this.#pin(blog, [post], !post.isPinned) },
      { label: text().earlier, act: () => void this.#shift(blog, post, -1) },
      { label: text().later, act: () => void this.#shift(blog, post, 1) },
      null,
      post.status === "deleted"
        ? { label: text().removeForGood, act: act("remove"), isRisky: true }
        : { label: text().deletePost, act: act("delete"), isRisky: true },
    ], post.title || text().untitled);
  }

  /**
   * @param {LiveBlog} blog
   * @param {Post[]} posts
   * @param {Deed} deed
   */
  async #do(blog, posts, deed) {
    this.#selected.value = new Set();
    try {
      const errors = await blog.setStatus(posts, deed);
      if (errors.length > 0) notifyFault(new Error(errors[0].message));
      else notify(text().done[deed](posts.length), deed === "remove" ? undefined : {
        label: text().undo,
        act: () => void this.#undo(blog, posts),
      });
    } catch (error) {
      notifyFault(error);
    }
  }

  /**
   * Gives posts the status back that they had.
   * @param {LiveBlog} blog
   * @param {Post[]} posts
   */
  async #undo(blog, posts) {
    /** @type {Record<string, Deed>} */
    const back = { pending: "pending", approved: "approve", rejected: "reject", deleted: "delete" };
    try {
      for (const status of STATUSES) {
        const these = posts.filter((post) => post.status === status);
        if (these.length > 0) await blog.setStatus(these, back[status]);
      }
    } catch (error) {
      notifyFault(error);
    }
  }

  /**
   * @param {LiveBlog} blog
   * @param {Post[]} posts
   * @param {boolean} pinned
   */
  async #pin(blog, posts, pinned) {
    this.#order = [];
    try {
      const errors = await blog.pin(posts, pinned);
      if (errors.length > 0) notifyFault(new Error(errors[0].message));
    } catch (error) {
      notifyFault(error);
    }
  }

  /**
   * @param {LiveBlog} blog
   * @param {Post} post
   * @param {-1 | 1} by
   */
  async #shift(blog, post, by) {
    this.#order = [];
    this.#isTouched = false;
    try {
      await blog.shift(post, by);
      say(text().shifted(post.title || text().untitled));
    } catch (error) {
      say(explain(error));
      notifyFault(error);
    }
  }
}

customElements.define("liveblog-page", LiveBlogPage);
