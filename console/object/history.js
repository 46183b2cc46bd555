// What was done with an object: the audit trail for those who may read it, the history for everybody else.

import { CallError, call } from "../api/calls.js";
import { fullName } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View, effect } from "../lib/view.js";
import { besideName } from "../parts/signs.js";
import { ago, explain, moment, text } from "../text/index.js";

/** @typedef {{ id: string, at: number, user: string, action: string, address: string }} Deed */

/** The number of changes that are read at once. */
const PAGE = 50;

class ObjectHistory extends View {
  /** @type {import("./object.js").OpenObject} */
  object = /** @type {any} */ (undefined);

  /** @type {Signal<Deed[]>} The newest first. */
  #deeds = new Signal(/** @type {Deed[]} */ ([]));
  /** The place from which earlier ones are read; null at the end. */
  #next = new Signal(/** @type {string | null} */ (null));
  #isRead = new Signal(false);
  /** Whether the caller may read the audit trail, as far as it is known. */
  #hasAudit = true;
  #fault = new Signal("");

  begin() {
    this.during(effect(() => {
      void this.object.record.value?.revision;
      this.#read().catch((error) => (this.#fault.value = explain(error)));
    }));
  }

  async #read() {
    this.#show(await this.#page(undefined), []);
    this.#isRead.value = true;
  }

  /**
   * @param {{ items: Deed[], next: string | null }} page
   * @param {Deed[]} newer
   */
  #show({ items, next }, newer) {
    this.#deeds.value = [...newer, ...items];
    this.#next.value = next;
  }

  /**
   * Reads the audit trail, which only some may, or else the history, which has no addresses.
   * @param {string | undefined} before The `next` of the page before.
   * @returns {Promise<{ items: Deed[], next: string | null }>}
   */
  async #page(before) {
    const { loid } = this.object;
    if (this.#hasAudit) {
      try {
        const { result } = await call("GET", "v3/audit", { query: { object: loid, limit: PAGE, after: before } });
        return { items: result.items.map(deedOf), next: result.next };
      } catch (error) {
        if (!(error instanceof CallError) || error.status !== 403) throw error;
        this.#hasAudit = false;
      }
    }
    const { result } = await call("GET", "v3/container/{loid}/history", { parts: { loid }, query: { limit: PAGE, before } });
    const known = result.items.filter((/** @type {any} */ item) => item.kind);
    return {
      items: known.map((/** @type {any} */ { revision, at, user, kind }) => ({ id: String(revision), at, user, action: kind, address: "" })),
      next: result.next === null ? null : String(result.next),
    };
  }

  template() {
    const deeds = this.#deeds.value;
    if (this.#fault.value) return html`<p class="fault">${this.#fault.value}</p>`;
    if (deeds.length === 0) return this.#isRead.value ? html`<div class="nothing"><p>${text().noRecentChanges}</p></div>` : "";
    return html`
      <ol class="history">${keyed(deeds, ({ id }) => id, ({ at, user, action, address }) => html`
        <li>${besideName(user)}<span><b>${fullName(user)}</b> ${text().did[action] ?? action}
          <time title=${moment(at)}>${ago(at)}</time> ${address ? html`<small>${address}</small>` : ""}</span></li>`)}
      </ol>
      ${this.#next.value ? html`<button class="more" @click=${() => void this.#more()}>${text().showMore}</button>` : ""}`;
  }

  async #more() {
    try {
      this.#show(await this.#page(this.#next.now ?? undefined), this.#deeds.now);
    } catch (error) {
      this.#fault.value = explain(error);
    }
  }
}

/**
 * @param {any} item
 * @returns {Deed}
 */
const deedOf = ({ id, at, user, action, address }) => ({ id, at, user, action, address: address ?? "" });

customElements.define("object-history", ObjectHistory);
