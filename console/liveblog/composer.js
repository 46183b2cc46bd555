// Where a post is written, and an existing one is changed. It stays in its place while the list below it moves.

import { View } from "../lib/view.js";
import { html, keyed } from "../lib/html.js";
import { draftOf, keepDraft } from "../parts/drafts.js";
import { notify, notifyFault } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { fullName, user } from "../api/people.js";
import { text } from "../text/index.js";
import { readText } from "./text.js";

/** @typedef {import("./liveblog.js").Post} Post */
/** @typedef {{ file: File, alt: string, preview: string }} Picture */

/** The largest number of pictures of a post, which the server allows. */
const MOST = 100;

let forms = 0;

class PostComposer extends View {
  /** @type {import("./liveblog.js").LiveBlog} */
  blog = /** @type {any} */ (undefined);

  /** The post that is changed; null for a new one. @type {Post | null} */
  #post = null;
  #title = "";
  #text = "";
  /** Whether the text is the content itself, because it has more than paragraphs. */
  #isSource = false;
  /** The pictures of each draft, which are kept while the page is open. @type {Map<string, Picture[]>} */
  #drafted = new Map();
  #isBusy = false;
  #endEdit = () => {};
  #name = `composer-${++forms}`;

  begin() {
    const draft = draftOf(this.blog.loid);
    if (draft) [this.#title, this.#text] = [draft.title, draft.text];
    this.during(() => this.#endEdit());
    this.during(() => [...this.#drafted.values()].flat().forEach(({ preview }) => URL.revokeObjectURL(preview)));
  }

  /** Whether something was typed that is not sent. */
  get isDirty() {
    return this.#title !== (this.#post?.title ?? "") || this.#text !== this.#before || this.#pictures.length > 0;
  }

  get #before() {
    if (!this.#post) return "";
    return this.#isSource ? (this.#post.content ?? "") : this.#post.text;
  }

  /** The pictures that are sent with the text. */
  get #pictures() {
    return this.#drafted.get(this.#subject) ?? [];
  }

  /** @param {string} subject */
  #forget(subject) {
    for (const { preview } of this.#drafted.get(subject) ?? []) URL.revokeObjectURL(preview);
    this.#drafted.delete(subject);
    keepDraft(subject, null);
  }

  /** What the draft belongs to. */
  get #subject() {
    return this.#post?.id ?? this.blog.loid;
  }

  /**
   * Takes a post to change it. What was typed for another one stays as its draft.
   * @param {Post} post
   */
  edit(post) {
    this.#release();
    this.#take(post);
    const draft = draftOf(post.id);
    if (draft) [this.#title, this.#text] = [draft.title, draft.text];
    this.#endEdit = this.blog.edit(post.id, "text");
    this.changed();
    this.scrollIntoView({ block: "nearest" });
    requestAnimationFrame(() => this.querySelector("textarea")?.focus());
  }

  /** @param {Post} post */
  #take(post) {
    this.#post = post;
    this.#isSource = post.content !== null && readText(post.content, post.contentType) === null;
    this.#title = post.title;
    this.#text = this.#before;
  }

  /** Goes back to a new post. */
  #release() {
    this.#endEdit();
    this.#endEdit = () => {};
    this.#post = null;
    this.#isSource = false;
    const draft = draftOf(this.blog.loid);
    [this.#title, this.#text] = [draft?.title ?? "", draft?.text ?? ""];
    this.changed();
  }

  template() {
    const post = this.#post;
    const now = post && this.blog.posts.value.find(({ id }) => id === post.id);
    const change = post && this.blog.changes.value.find(({ ids, user: by }) => ids.includes(post.id) && by !== user.value?.name);
    const isOther = post && now && now.revision > post.revision && (now.title !== post.title || now.content !== post.content);
    return html`
      <form class="composer" aria-label=${post ? text().editPost : text().newPost}
        @submit=${(/** @type {SubmitEvent} */ event) => this.#submit(event)}
        @input=${(/** @type {Event} */ event) => this.#typed(event)}
        @paste=${(/** @type {ClipboardEvent} */ event) => this.#pasted(event)}
        @dragover=${(/** @type {Event} */ event) => event.preventDefault()}
        @drop=${(/** @type {DragEvent} */ event) => this.#dropped(event)}
        @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
        ${post ? html`<p class="editing"><b>${text().editPost}</b> ${post.title}
          <button type="button" class="plain" @click=${() => this.#giveUp()}>${text().cancel}</button></p>` : ""}
        ${isOther ? html`<p class="conflict" role="alert">
          <span>${text().changedBy(fullName(change?.user ?? now.author))}</span>
          <button type="button" @click=${() => (this.#take(now), this.#keep(), this.changed())}>${text().takeTheirs}</button>
          <button type="button" @click=${() => this.#keepMine(now)}>${text().keepMine}</button></p>` : ""}
        <input name="title" aria-label=${text().postTitle} placeholder=${text().postTitle} maxlength="300" .value=${this.#title}>
        <textarea name="text" aria-label=${text().postText} placeholder=${text().postHint} rows=${this.#isSource ? 8 : 4} .value=${this.#text}></textarea>
        ${this.#isSource ? html`<p class="hint">${text().isSource}</p>` : ""}
        <ol class="pictures">${keyed(this.#pictures, ({ preview }) => preview, (picture, index) => html`
          <li><img alt="" src=${picture.preview}>
            <label>${text().altText}<input name=${`alt-${index}`} maxlength="500" .value=${picture.alt}></label>
            <button type="button" class="plain" aria-label=${text().removePicture} @click=${() => this.#drop(index)}>${icon("close")}</button></li>`)}
        </ol>
        <footer>
          <label class="file">${icon("Image")}<span>${text().addPictures}</span>
            <input type="file" accept="image/*" multiple @change=${(/** @type {Event} */ event) => this.#chosen(event)}></label>
          <span class="gap"></span>
          ${post ? "" : html`<button name="pending" value="true" ?disabled=${this.#isBusy || !this.isDirty}>${text().toQueue}</button>`}
          <button class="primary" id=${this.#name} ?disabled=${this.#isBusy || !this.isDirty}>${post ? text().save : text().publish}</button>
        </footer>
      </form>`;
  }

  /** @param {Event} event */
  #typed(event) {
    const { name, value } = /** @type {HTMLInputElement} */ (event.target);
    if (name === "title") this.#title = value;
    if (name === "text") this.#text = value;
    if (name.startsWith("alt-")) this.#pictures[Number(name.slice(4))].alt = value;
    this.#keep();
    this.changed();
  }

  #keep() {
    const draft = { title: this.#title, text: this.#text, revision: this.#post?.revision ?? 0 };
    const isEmpty = this.#post ? !this.isDirty : !draft.title && !draft.text;
    keepDraft(this.#subject, isEmpty ? null : draft);
  }

  /** @param {Post} now */
  #keepMine(now) {
    this.#post = now;
    this.#keep();
    this.changed();
  }

  #giveUp() {
    this.#forget(this.#subject);
    this.#release();
  }

  /** @param {Iterable<File>} files */
  #add(files) {
    const pictures = [...files].filter((file) => file.type.startsWith("image/"));
    const room = MOST - this.#pictures.length;
    const more = pictures.slice(0, room).map((file) => ({ file, alt: "", preview: URL.createObjectURL(file) }));
    this.#drafted.set(this.#subject, [...this.#pictures, ...more]);
    this.changed();
    return pictures.length > 0;
  }

  /** @param {number} index */
  #drop(index) {
    for (const { preview } of this.#pictures.splice(index, 1)) URL.revokeObjectURL(preview);
    this.changed();
  }

  /** @param {Event} event */
  #chosen(event) {
    const input = /** @type {HTMLInputElement} */ (event.target);
    this.#add(input.files ?? []);
    input.value = "";
  }

  /** @param {ClipboardEvent} event */
  #pasted(event) {
    if (this.#add(event.clipboardData?.files ?? [])) event.preventDefault();
  }

  /** @param {DragEvent} event */
  #dropped(event) {
    event.preventDefault();
    this.#add(event.dataTransfer?.files ?? []);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      /** @type {HTMLButtonElement | null} */ (this.querySelector(".primary"))?.click();
    }
  }

  /** @param {SubmitEvent} event */
  async #submit(event) {
    event.preventDefault();
    const isPending = event.submitter?.getAttribute("name") === "pending";
    const post = this.#post;
    const subject = this.#subject;
    const sent = { title: this.#title, text: this.#text };
    this.#isBusy = true;
    this.changed();
    try {
      const input = { ...sent, pictures: this.#pictures, isSource: this.#isSource, isPending };
      const { status, formerStatus, visibleToReaders } = await this.blog.write(post, input);
      notify(text().wrote(status, formerStatus, visibleToReaders));
      // What was typed during the call was not sent, and stays.
      const typed = this.#text.startsWith(sent.text) ? this.#text.slice(sent.text.length) : this.#text;
      this.#forget(subject);
      this.#release();
      if (typed && !post) this.#text = typed;
      if (typed && post) notifyFault(new Error(text().typedMeanwhile(typed)));
    } catch (error) {
      notifyFault(error);
    } finally {
      this.#isBusy = false;
      this.changed();
    }
  }
}

customElements.define("post-composer", PostComposer);
export { PostComposer };
