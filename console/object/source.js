// The source of an object: read by everybody, changed by the one who has it checked out.

import { CallError, address } from "../api/calls.js";
import { user } from "../api/people.js";
import { html } from "../lib/html.js";
import { Signal, View, effect } from "../lib/view.js";
import { draftOf, keepDraft } from "../parts/drafts.js";
import { notify, notifyFault } from "../parts/notices.js";
import { explain, text } from "../text/index.js";
import { LARGEST, isText } from "./preview.js";

/** The codes of errors that say that somebody has broken the lock. */
const LOST = ["PreconditionFailed", "ObjectLocked", "ObjectLockedByMe", "ObjectNotCheckedOut"];

/**
 * Whether a content says that it is in another encoding than UTF-8, in which this page writes. As long as it has ASCII
 * characters only, its bytes don't show that.
 * @param {string} type Its media type.
 * @param {string} words
 */
const namesOtherEncoding = (type, words) =>
  /charset=(?!"?(?:utf-?8|us-ascii)\b)/i.test(type) || /^\ufeff?<\?xml[^>]*?encoding\s*=\s*["'](?!utf-?8["'])/i.test(words);

class ObjectSource extends View {
  /** @type {import("./object.js").OpenObject} */
  object = /** @type {any} */ (undefined);

  /** The text on the server, as it was read last. */
  #read = new Signal("");
  #etag = "";
  /** Whether the text is in another encoding than UTF-8, in which it can't be shown without harm. */
  #isForeign = new Signal(false);
  /** Whether this page has the object checked out. */
  #isOut = new Signal(false);
  #isBusy = new Signal(false);
  #fault = new Signal("");
  /** What is typed. */
  #words = "";
  #isDirty = new Signal(false);
  #stamp = "";
  #endEdit = () => {};

  get #draft() {
    return `source.${this.object.loid}`;
  }

  begin() {
    this.during(effect(() => {
      const record = this.object.record.value;
      if (!this.#isOut.value) void this.#refresh(record);
    }));
    this.during(() => this.#endEdit());
  }

  template() {
    const record = this.object.record.value;
    if (!record) return "";
    const { contentType: type = "", size = 0 } = record.virtualAttributes ?? {};
    if (type && (!isText(type) || size > LARGEST || this.#isForeign.value)) return this.#binary(record);
    const isOut = this.#isOut.value;
    return html`
      <div class="source">
        <div class="actions">
          ${isOut ? this.#outActions() : this.#inActions(record)}
          <span class="gap"></span>
          ${this.#upload()}
        </div>
        ${this.#fault.value ? html`<p class="fault" role="alert">${this.#fault.value}</p>` : ""}
        <textarea class="code" aria-label=${text().source} spellcheck="false" ?readonly=${!isOut} .value=${isOut ? this.#words : this.#read.value}
          @input=${(/** @type {Event} */ event) => this.#typed(event)}
          @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}></textarea>
      </div>`;
  }

  /** @param {any} record */
  #binary(record) {
    const source = address("v3/object/{object}/content", { object: record.id }).href;
    return html`
      <div class="source"><div class="actions"><a href=${source} download>${text().download}</a><span class="gap"></span>${this.#upload()}</div>
        <p class="hint">${text().noSource}</p></div>`;
  }

  #upload() {
    return html`<label class="file"><span>${text().replaceFile}</span>
      <input type="file" @change=${(/** @type {Event} */ event) => void this.#replace(event)}></label>`;
  }

  /** @param {any} record */
  #inActions(record) {
    const holder = record.locker?.id ?? "";
    const isOther = holder !== "" && holder !== user.value?.name;
    const draft = draftOf(this.#draft);
    return html`
      <button class="primary" ?disabled=${isOther || this.#isBusy.value} @click=${() => void this.#checkOut()}>${holder !== "" && !isOther ? text().continueEditing : text().checkOut}</button>
      ${draft ? html`<span class="hint">${text().keptHere}</span>` : ""}`;
  }

  #outActions() {
    const isBusy = this.#isBusy.value;
    return html`
      <button class="primary" ?disabled=${isBusy} @click=${() => void this.#send({ newVersion: true })}>${text().checkIn}</button>
      <button ?disabled=${isBusy || !this.#isDirty.value} @click=${() => void this.#send({ checkIn: false })}>${text().saveDraft}</button>
      <button class="plain" ?disabled=${isBusy} @click=${() => void this.#cancel()}>${text().throwAway}</button>
      <span class="hint" role="status">${this.#isDirty.value ? text().notSaved : text().checkedOut}</span>`;
  }

  /**
   * Reads the text, if it is another one than that on the screen.
   * @param {any} record
   */
  async #refresh(record) {
    const stamp = `${record?.version} ${record?.additionalInfo?.sha256}`;
    const { contentType = "", size = 0 } = record?.virtualAttributes ?? {};
    if (stamp === this.#stamp || !isText(contentType) || size > LARGEST) return;
    this.#stamp = stamp;
    try {
      await this.#readSource(-1);
    } catch (error) {
      this.#stamp = "";
      this.#fault.value = explain(error);
    }
  }

  /** @param {number} [version] */
  async #readSource(version) {
    const { text: words, etag } = await this.object.readContent(version);
    const { contentType, size } = this.object.record.now.virtualAttributes;
    this.#isForeign.value = (words === "" && size > 0) || namesOtherEncoding(contentType, words);
    this.#read.value = words;
    this.#etag = etag;
  }

  /** @param {() => Promise<void>} step */
  async #try(step) {
    this.#isBusy.value = true;
    this.#fault.value = "";
    try {
      await step();
    } catch (error) {
      const isLost = this.#isOut.now && error instanceof CallError && LOST.includes(error.code);
      this.#fault.value = isLost ? text().checkOutLost : explain(error);
      if (isLost) this.#close();
    } finally {
      this.#isBusy.value = false;
    }
  }

  #checkOut() {
    return this.#try(async () => {
      await this.object.lock();
      if (this.object.record.now.virtualAttributes?.contentType) await this.#readSource();
      const kept = draftOf(this.#draft);
      this.#words = kept?.text ?? this.#read.now;
      this.#isDirty.value = this.#words !== this.#read.now;
      this.#isOut.value = true;
      this.#endEdit = this.object.edit(this.object.loid, "content");
      requestAnimationFrame(() => this.querySelector("textarea")?.focus());
    });
  }

  /** @param {Record<string, boolean>} switches */
  #send(switches) {
    const sent = this.#words;
    return this.#try(async () => {
      const type = this.object.record.now.virtualAttributes?.contentType || "text/xml";
      const { etag } = await this.object.writeContent(new Blob([sent], { type }), switches, this.#etag);
      this.#etag = etag;
      this.#read.value = sent;
      this.#stamp = "";
      this.#keep(this.#words);
      const isIn = switches.checkIn !== false;
      // What was typed meanwhile is not lost: the object is checked out once more.
      if (isIn && this.#words === sent) this.#close();
      else if (isIn) await this.object.lock();
      notify(isIn ? text().checkedIn : text().draftSaved);
    });
  }

  #cancel() {
    return this.#try(async () => {
      await this.object.writeContent(undefined, { checkOutClean: true, checkIn: false, unlock: true });
      this.#keep(this.#read.now);
      this.#stamp = "";
      this.#close();
    });
  }

  #close() {
    this.#isOut.value = false;
    this.#endEdit();
    this.#endEdit = () => {};
    requestAnimationFrame(() => this.querySelector("button")?.focus());
  }

  /** @param {Event} event */
  #typed(event) {
    this.#words = /** @type {HTMLTextAreaElement} */ (event.target).value;
    this.#keep(this.#words);
  }

  /**
   * Keeps what is typed in the browser, as long as the server does not have it.
   * @param {string} words
   */
  #keep(words) {
    this.#isDirty.value = words !== this.#read.now;
    keepDraft(this.#draft, this.#isDirty.now ? { title: "", text: words, revision: this.object.revision } : null);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
    event.preventDefault();
    if (this.#isOut.now && this.#isDirty.now) void this.#send({ checkIn: false });
  }

  /** @param {Event} event */
  async #replace(event) {
    const input = /** @type {HTMLInputElement} */ (event.target);
    const [file] = input.files ?? [];
    input.value = "";
    if (!file) return;
    try {
      await this.object.writeContent(file, { newVersion: true });
      this.#stamp = "";
      notify(text().checkedIn);
    } catch (error) {
      notifyFault(error);
    }
  }
}

customElements.define("object-source", ObjectSource);
