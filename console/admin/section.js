// What the sections of administration share: lists that are read in pages, forms that keep their input, refusals.

import { CallError, call } from "../api/calls.js";
import { html } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { explain, text } from "../text/index.js";

/** The entries that are read at once, and by how many more each time. */
const PAGE = 100;

/**
 * The third part of the address: what is chosen within a section. Empty if nothing is.
 */
export function chosenOfAddress() {
  const part = location.hash.split("/")[3] ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A section with a list, of which one entry or a new one is open beside it. The address names the open one. */
export class ListSection extends View {
  /** The name of the open entry; empty for none. */
  chosen = new Signal(chosenOfAddress());
  isNew = new Signal(false);

  /**
   * @param {string} section As the address names it.
   * @param {string} mark The attribute in which the list has the name of each entry.
   */
  constructor(section, mark) {
    super();
    this.section = section;
    this.mark = mark;
  }

  begin() {
    const follow = () => {
      this.chosen.value = chosenOfAddress();
      if (this.chosen.now) this.isNew.value = false;
    };
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
  }

  /** Opens the form for a new entry. */
  add() {
    this.isNew.value = true;
    location.hash = `#/admin/${this.section}`;
  }

  /**
   * Opens an entry.
   * @param {string} name Empty for none.
   */
  openEntry(name) {
    this.isNew.value = false;
    location.hash = `#/admin/${this.section}/${encodeURIComponent(name)}`;
  }

  /** Closes what is open. The focus goes back to its line. */
  close() {
    const name = this.chosen.now;
    this.openEntry("");
    requestAnimationFrame(() => {
      const line = this.querySelector(`[${this.mark}="${CSS.escape(name)}"]`) ?? this.querySelector("input, button");
      /** @type {HTMLElement | null} */ (line)?.focus();
    });
  }
}

/**
 * Reads now and again, as long as somebody sees the page. Returns a function that ends this.
 * @param {() => Promise<void>} read
 * @param {number} pause The time between two readings, in milliseconds.
 */
export function readAgain(read, pause) {
  let timer = 0;
  let isEnded = false;
  const again = async () => {
    if (!document.hidden) await read();
    if (!isEnded) timer = window.setTimeout(again, pause);
  };
  void again();
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

/**
 * A failure, in the words of administration where the server gives a reason.
 * @param {unknown} error
 */
export function explainFault(error) {
  if (!(error instanceof CallError)) return explain(error);
  const { reason, minLength } = error.details;
  const known = text().admin.reasons;
  if (reason === "passwordTooShort") return known.passwordTooShort(Number(minLength));
  if (reason === "passwordTooLong" || reason === "passwordIsName" || reason === "lastAdministrator") return known[/** @type {"passwordIsName"} */ (reason)];
  return explain(error);
}

/**
 * A list that is read in pages from an endpoint with `limit` and `total`.
 * @template T
 */
export class Listing {
  /** Null before it was read. @type {Signal<T[] | null>} */
  items = new Signal(/** @type {T[] | null} */ (null));
  total = new Signal(0);
  fault = new Signal("");
  #most = PAGE;
  #last = 0;

  /**
   * @param {string} path
   * @param {import("../api/calls.js").CallOptions} [options]
   */
  constructor(path, options = {}) {
    this.path = path;
    this.options = options;
  }

  async read() {
    const turn = ++this.#last;
    try {
      const query = { ...this.options.query, limit: this.#most };
      const { result } = await call("GET", this.path, { ...this.options, query });
      // An answer that comes after that to a later question is out of date.
      if (turn !== this.#last) return;
      this.fault.value = "";
      this.total.value = result.total;
      this.items.value = result.items;
    } catch (error) {
      this.fault.value = explainFault(error);
    }
  }

  readMore() {
    this.#most += PAGE;
    this.read();
  }

  /** The button that reads further entries, and what went wrong. */
  foot() {
    const isMore = this.total.value > (this.items.value?.length ?? 0);
    return html`
      <p class="fault" role="alert">${this.fault.value}</p>
      ${isMore ? html`<button class="more" @click=${() => this.readMore()}>${text().showMore}</button>` : ""}`;
  }
}

/** A form's state: what is wrong with it, and whether it is being sent. */
export class FormState {
  fault = new Signal("");
  isBusy = new Signal(false);

  /**
   * Sends the form. Its fields stay as they are if that fails.
   * @param {() => Promise<unknown>} send
   */
  async run(send) {
    if (this.isBusy.now) return;
    this.isBusy.value = true;
    this.fault.value = "";
    try {
      await send();
    } catch (error) {
      this.fault.value = explainFault(error);
    } finally {
      this.isBusy.value = false;
    }
  }
}

/**
 * The texts that the fields of a form have.
 * @param {Event} event Of the form.
 * @returns {Record<string, string>}
 */
export function valuesOf(event) {
  event.preventDefault();
  const form = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget ?? event.target));
  return Object.fromEntries([...form].map(([name, value]) => [name, String(value)]));
}

/**
 * Scrolls the list beside a panel to what is chosen, and moves the focus into the panel.
 * @param {HTMLElement} panel
 * @param {string} first What gets the focus.
 */
export function enterPanel(panel, first) {
  requestAnimationFrame(() => {
    panel.parentElement?.querySelector(".choose [aria-current]")?.scrollIntoView({ block: "nearest" });
    /** @type {HTMLElement | null} */ (panel.querySelector(first))?.focus();
  });
}

/**
 * The head of a section.
 * @param {string} title
 * @param {unknown} lead
 * @param {unknown} deeds What stands beside the title.
 */
export const head = (title, lead, deeds = "") => html`
  <header class="head"><div><h2>${title}</h2><p class="lead">${lead}</p></div><div class="deeds">${deeds}</div></header>`;

/**
 * What stands where there is nothing.
 * @param {string} title
 * @param {string} [hint]
 */
export const nothing = (title, hint = "") => html`<div class="nothing"><p><b>${title}</b></p><p>${hint}</p></div>`;

/**
 * The path of an object, to be shown; its loid if it can't be read.
 * @param {string} object
 * @returns {Promise<string>}
 */
export async function pathOf(object) {
  const query = { showPath: true, showAttributes: false, showSystemAttributes: false, showUsageTickets: false, showVirtualAttributes: false };
  return call("GET", "v3/object/{object}", { parts: { object }, query }).then(({ result }) => result.path ?? object, () => object);
}
