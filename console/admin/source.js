// A file as its source: edited, checked in, with its faults at their lines.

import { CallError, call } from "../api/calls.js";
import { follow } from "../api/events.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { draftOf, keepDraft } from "../parts/drafts.js";
import { notify } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { text } from "../text/index.js";
import { FormState, enterPanel } from "./section.js";

/** @typedef {import("./configuration.js").ConfigFile} ConfigFile */
/** @typedef {import("./configuration.js").Fault} Fault */

/** The height of a line, as the style sheet has it. */
const LINE = 20;

/** The space above the first line, as the style sheet has it. */
const TOP = 8;

/** The most bytes of a file that is edited here: what the server takes as a configuration file. */
const MOST_BYTES = 4 << 20;

/** @param {string} id */
const keyOf = (id) => `configuration.${id}`;

class SourceEditor extends View {
  /** @type {ConfigFile} */
  file = { id: "", path: "", type: "", size: 0, modified: 0, modifier: "" };
  saved = () => {};
  refresh = () => Promise.resolve();
  closed = () => {};
  /** @type {Signal<Fault[]>} */
  #faults = new Signal(/** @type {Fault[]} */ ([]));
  /** What the server has. Null while it is not read, or can't be edited. @type {Signal<string | null>} */
  #source = new Signal(/** @type {string | null} */ (null));
  #lines = new Signal(1);
  #isChanged = new Signal(false);
  /** Whether somebody else has saved the file since it was read. */
  #isBehind = new Signal(false);
  #form = new FormState();
  /** The tag of the content that is edited. */
  #tag = "";

  /** @param {Fault[]} faults */
  set faults(faults) {
    this.#faults.value = faults;
  }

  begin() {
    this.#read();
    this.during(follow(this.file.id, (message) => void (message.kind.startsWith("object.content") && this.#look())));
    enterPanel(this, "h3");
  }

  /** The field with the source, once there is one. */
  get #area() {
    return /** @type {HTMLTextAreaElement | null} */ (this.querySelector("textarea"));
  }

  /** The latest version. */
  async #fetch() {
    return call("GET", "v3/object/{id}/content", { parts: { id: this.file.id }, query: { version: -1 } });
  }

  /** Reads the file, and shows what was typed before, if it was not saved. */
  #read() {
    return this.#form.run(async () => {
      const source = this.file.size > MOST_BYTES ? null : await this.#fetch();
      // A field for texts would change these characters; what is no text has none.
      if (!source?.text || /[\0\r]/.test(source.text)) {
        this.#form.fault.value = text().admin.source.notText;
        return;
      }
      const draft = draftOf(keyOf(this.file.id));
      this.#tag = draft?.tag ?? source.etag;
      this.#isBehind.value = draft !== null && draft.tag !== source.etag;
      this.#show(source.text, draft?.text ?? source.text);
    });
  }

  /**
   * @param {string} source
   * @param {string} typed
   */
  #show(source, typed) {
    this.#source.value = source;
    queueMicrotask(() => {
      const area = this.#area;
      if (area) area.value = typed;
      this.#typed();
    });
  }

  /** Looks whether others have saved it. */
  async #look() {
    if (this.#form.isBusy.now || !this.#tag) return;
    const reply = await this.#fetch().catch(() => null);
    if (reply && reply.etag !== this.#tag && !this.#form.isBusy.now) {
      if (this.#isChanged.now) this.#isBehind.value = true;
      else this.#read();
    }
  }

  template() {
    const t = text().admin.source;
    const faults = this.#faults.value;
    return html`
      <section aria-labelledby="source-title">
        <header><h3 id="source-title" tabindex="-1">${this.file.path.slice(this.file.path.lastIndexOf("/") + 1)}</h3>
          ${this.#isChanged.value ? html`<span class="badge warn">${t.notSaved}</span>` : ""}
          <button class="plain" aria-label=${text().close} @click=${() => this.closed()}>${icon("close")}</button></header>
        <p class="hint">${this.file.path}</p>
        ${this.#isBehind.value ? html`
          <div class="outcome warn" role="alert"><p>${t.behind}</p><p class="deeds">
            <button @click=${() => this.#takeTheirs()}>${text().takeTheirs}</button><button @click=${() => this.#keepMine()}>${text().keepMine}</button></p></div>` : ""}
        ${this.#source.value === null ? "" : this.#editor(faults)}
        ${faults.length > 0 ? html`
          <ol class="faults" aria-label=${t.faults}>${keyed(faults, (fault) => fault, ({ line, column, message }) => html`
            <li><button class="plain" @click=${() => this.#goTo(line ?? 1, column ?? 1)}><b>${t.place(line ?? 1, column ?? 1)}</b> ${message}</button></li>`)}</ol>` : ""}
        <p class="fault" role="alert">${this.#form.fault.value}</p>
        ${this.#source.value === null ? "" : html`
          <footer>
            <button class="primary" ?disabled=${this.#form.isBusy.value} @click=${() => this.#save(true)}>${t.saveAndRefresh}</button>
            <button ?disabled=${this.#form.isBusy.value || !this.#isChanged.value} @click=${() => this.#save(false)}>${t.save}</button>
            <button class="plain" ?disabled=${!this.#isChanged.value} @click=${() => this.#takeTheirs()}>${t.undo}</button>
          </footer>`}
      </section>`;
  }

  /** @param {Fault[]} faults */
  #editor(faults) {
    const lines = [...new Set(faults.map(({ line }) => line ?? 1))];
    const height = this.#lines.value * LINE + 2 * TOP;
    return html`
      <div class="source">
        <div class="gutter" aria-hidden="true">
          <svg class="marks" width="100%" height=${height}>${lines.map((line) => html`${mark(line)}`)}</svg>
          <pre>${Array.from({ length: this.#lines.value }, (_, at) => at + 1).join("\n")}</pre>
        </div>
        <textarea wrap="off" spellcheck="false" autocapitalize="none" autocomplete="off" aria-label=${this.file.path}
          @input=${() => this.#typed()} @scroll=${() => this.#scrolled()}
          @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}></textarea>
      </div>`;
  }

  #typed() {
    const typed = this.#area?.value ?? "";
    this.#lines.value = typed.split("\n").length;
    this.#isChanged.value = typed !== this.#source.now;
    keepDraft(keyOf(this.file.id), this.#isChanged.now ? { title: "", text: typed, revision: 0, tag: this.#tag } : null);
  }

  #scrolled() {
    const gutter = this.querySelector(".gutter");
    if (gutter) gutter.scrollTop = this.#area?.scrollTop ?? 0;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.#save(false);
  }

  /**
   * @param {number} line
   * @param {number} column
   */
  #goTo(line, column) {
    const area = this.#area;
    if (!area) return;
    const before = area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const end = area.value.indexOf("\n", before);
    area.focus();
    area.setSelectionRange(before + column - 1, end < 0 ? area.value.length : Math.max(end, before + column - 1));
    area.scrollTop = Math.max(0, (line - 4) * LINE);
  }

  /** Drops what was typed, and reads the file again. */
  #takeTheirs() {
    keepDraft(keyOf(this.file.id), null);
    this.#read();
  }

  /** Goes on with what was typed, over what others have saved. */
  #keepMine() {
    return this.#form.run(async () => {
      const { text: theirs, etag } = await this.#fetch();
      this.#tag = etag;
      this.#source.value = theirs;
      this.#isBehind.value = false;
      this.#typed();
    });
  }

  /**
   * Checks the file in as a new version, if it was changed.
   * @param {boolean} isForced Whether it is brought into force, too.
   */
  async #save(isForced) {
    await this.#form.run(async () => {
      const typed = this.#area?.value ?? "";
      if (typed !== this.#source.now) await this.#send(typed);
    });
    if (isForced && !this.#form.fault.now) await this.refresh();
  }

  /** @param {string} typed */
  async #send(typed) {
    if (typed === "") {
      this.#form.fault.value = text().admin.source.empty;
      return;
    }
    const content = new Blob([typed], { type: this.file.type || "text/xml" });
    const parts = { id: this.file.id };
    try {
      await call("PUT", "v3/object/{id}/content", { parts, query: { newVersion: true }, content, ifMatch: this.#tag });
    } catch (error) {
      if (!(error instanceof CallError) || error.status !== 412) throw error;
      // The reply to this very change may have been lost.
      if ((await this.#fetch()).text !== typed) {
        this.#isBehind.value = true;
        throw error;
      }
    }
    this.#tag = (await this.#fetch()).etag;
    // More may have been typed meanwhile.
    this.#source.value = typed;
    this.#isBehind.value = false;
    this.#typed();
    notify(text().admin.source.checkedIn(this.file.path));
    this.saved();
  }
}

/**
 * The mark of a line with a fault.
 * @param {number} line
 */
function mark(line) {
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x: 0, y: (line - 1) * LINE + TOP, width: "100%", height: LINE })) rect.setAttribute(name, String(value));
  return rect;
}

customElements.define("source-editor", SourceEditor);
