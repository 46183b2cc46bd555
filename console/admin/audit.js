// The audit trail: who has changed what, when, and from where.

import { call } from "../api/calls.js";
import { fullName } from "../api/people.js";
import "../find/picker.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { besideName, icon } from "../parts/signs.js";
import { actionInWords } from "../text/actions.js";
import { language, moment, text } from "../text/index.js";
import { chosenOfAddress, explainFault, head, nothing, pathOf, valuesOf } from "./section.js";
import "./person-picker.js";

/**
 * @typedef {{ id: string, at: number, user: string, session: string, address: string, action: string, container: string | null,
 *   revision: number | null, objects: string[], from?: string | null, to?: string }} Entry
 */

/** The entries that are read at once. */
const PAGE = 100;

/** The objects of an entry whose names are shown. */
const NAMED = 3;

/** The form of a loid. */
const LOID = /^\d+\$\d+\.\d+\.\d+$/;

const DISPLAY = { showPath: true, showAttributes: false, showSystemAttributes: false, showUsageTickets: false, showVirtualAttributes: false };

class AdminAudit extends View {
  /** @type {Signal<Entry[] | null>} */
  #list = new Signal(/** @type {Entry[] | null} */ (null));
  /** After what the next page begins; null at the end of the trail. @type {Signal<string | null>} */
  #next = new Signal(/** @type {string | null} */ (null));
  /** The object whose changes are shown: its source, and its path once that is known. @type {Signal<{ source: string, path: string } | null>} */
  #object = new Signal(/** @type {{ source: string, path: string } | null} */ (null));
  /** The paths of objects, by loid. @type {Signal<Map<string, string>>} */
  #paths = new Signal(new Map());
  #filter = { user: "", from: "", to: "" };
  #fault = new Signal("");
  #isBusy = new Signal(false);
  #last = 0;

  begin() {
    const follow = () => this.#choose(chosenOfAddress());
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    follow();
  }

  /** @param {string} source Empty for everything. */
  async #choose(source) {
    if (location.hash.split("/")[2] !== "audit" && location.hash.split("/")[2]) return;
    this.#object.value = source ? { source, path: this.#paths.now.get(source) ?? source } : null;
    if (source) pathOf(source).then((path) => this.#object.now?.source === source && (this.#object.value = { source, path }));
    await this.#read("");
  }

  /** @param {string} after Empty for the newest. */
  async #read(after) {
    const turn = ++this.#last;
    this.#isBusy.value = true;
    const { user, from, to } = this.#filter;
    const query = {
      limit: PAGE,
      after: after || undefined,
      user: user || undefined,
      object: this.#object.now?.source,
      from: timeOf(from),
      to: timeOf(to),
    };
    try {
      const { result } = await call("GET", "v3/audit", { query });
      // An answer that comes after that to a later question is out of date.
      if (turn !== this.#last) return;
      this.#fault.value = "";
      this.#next.value = result.next;
      this.#list.value = after ? [...(this.#list.now ?? []), ...result.items] : result.items;
      await this.#name(result.items);
    } catch (error) {
      if (turn === this.#last) this.#fault.value = explainFault(error);
    } finally {
      if (turn === this.#last) this.#isBusy.value = false;
    }
  }

  /** Reads the paths of what entries name. @param {Entry[]} entries */
  async #name(entries) {
    const all = entries.flatMap(({ container, objects }) => [container ?? "", ...objects.slice(0, NAMED)]);
    const sources = [...new Set(all)].filter((one) => LOID.test(one) && !this.#paths.now.has(one));
    if (sources.length === 0) return;
    // Without them the loids are shown.
    const reply = await call("POST", "v3/object", { body: { sources, options: DISPLAY }, isRead: true }).catch(() => null);
    if (!reply) return;
    for (const { id, path } of reply.result.items) if (path) this.#paths.now.set(id, path);
    this.#paths.changed();
  }

  template() {
    const t = text().admin.audit;
    const list = this.#list.value;
    return html`
      ${head(text().admin.sections.audit, t.lead)}
      <div class="filters">
        <form class="inline" @submit=${(/** @type {Event} */ event) => this.#submit(valuesOf(event))}>
          <person-picker .field=${"user"} .label=${t.person}></person-picker>
          <label>${t.from}<input type="datetime-local" name="from"></label>
          <label>${t.to}<input type="datetime-local" name="to"></label>
          <button class="primary">${text().admin.show}</button>
        </form>
        ${this.#chosen()}
      </div>
      <p class="fault" role="alert">${this.#fault.value}</p>
      ${list?.length === 0 ? nothing(this.#next.value ? t.noneYet : t.none, t.noneHint) : ""}
      ${list && list.length > 0 ? this.#table(list) : ""}
      ${this.#next.value ? html`<button class="more" ?disabled=${this.#isBusy.value} @click=${() => this.#read(this.#next.now ?? "")}>${t.older}</button>` : ""}`;
  }

  #chosen() {
    const t = text().admin.audit;
    const object = this.#object.value;
    if (object) return html`
      <p class="chosen"><span>${t.object}: <b>${object.path}</b></span>
        <button type="button" class="plain" aria-label=${t.allObjects} @click=${() => (location.hash = "#/admin/audit")}>${icon("close")}</button></p>`;
    return html`
      <p class="hint">${t.ofObject}</p>
      <object-picker .verb=${text().admin.choose} .label=${`${text().admin.choose}: ${t.ofObject}`} .pick=${async (/** @type {string} */ source) => (location.hash = addressOf(source))}></object-picker>`;
  }

  /** @param {Entry[]} list */
  #table(list) {
    const t = text().admin.audit;
    const days = new Intl.DateTimeFormat(language(), { dateStyle: "full" });
    const times = new Intl.DateTimeFormat(language(), { timeStyle: "medium" });
    return html`
      <div class="wide" role="region" aria-label=${text().admin.sections.audit} tabindex="0"><table class="plain-rows trail">
        <thead><tr><th scope="col">${t.time}</th><th scope="col">${t.person}</th><th scope="col">${t.change}</th>
          <th scope="col">${t.object}</th><th scope="col">${t.address}</th></tr></thead>
        <tbody>${keyed(list, ({ id }) => id, (one, at) => {
          const day = days.format(one.at);
          return html`
            ${at === 0 || days.format(list[at - 1].at) !== day ? html`<tr class="day"><th scope="rowgroup" colspan="5">${day}</th></tr>` : ""}
            <tr data-entry=${one.id}>
              <td><time title=${moment(one.at)}>${times.format(one.at)}</time></td>
              <td>${one.user ? html`<span class="who">${besideName(one.user)}<span>${fullName(one.user)}</span></span>` : t.local}</td>
              <td><span title=${one.action}>${actionInWords(one.action)}</span>${one.to ? html`<small>${t.status(one.from ?? "", one.to)}</small>` : ""}</td>
              <td>${this.#objects(one)}</td>
              <td>${one.address}</td>
            </tr>`;
        })}</tbody>
      </table></div>`;
  }

  /** @param {Entry} entry */
  #objects({ container, objects }) {
    const paths = this.#paths.value;
    const about = objects.filter((one) => one !== container);
    const link = (/** @type {string} */ one) => (LOID.test(one) ? html`<a href=${addressOf(one)}>${paths.get(one) ?? one}</a>` : one);
    const more = about.length - NAMED;
    return html`
      ${container ? link(container) : ""}
      ${about.length > 0 ? html`<small>${about.slice(0, NAMED).map((one, at) => html`${at > 0 ? ", " : ""}${link(one)}`)}${more > 0 ? ` ${text().admin.audit.andMore(more)}` : ""}</small>` : ""}`;
  }

  /** @param {Record<string, string>} values */
  #submit({ user, from, to }) {
    this.#filter = { user: user.trim(), from, to };
    return this.#read("");
  }
}

/** @param {string} source */
const addressOf = (source) => `#/admin/audit/${encodeURIComponent(source)}`;

/**
 * A time of a field, in epoch milliseconds: where the person is.
 * @param {string} value
 */
const timeOf = (value) => (value ? new Date(value).getTime() : undefined);

customElements.define("admin-audit", AdminAudit);
