// Where an object is used: drawers, links, its family, and what its usage tickets tell.

import { call } from "../api/calls.js";
import { fullName } from "../api/people.js";
import { html } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { facts, thumbnail } from "../parts/card.js";
import { addressOf, entryOf } from "../parts/entry.js";
import { ago, explain, moment, text } from "../text/index.js";
import { list } from "./fields.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */
/** @typedef {{ drawers: Entry[], links: { name: string, entry: Entry | null }[], family: Entry[] }} Uses */

/** The largest number of drawers and of relatives that are shown. */
const MOST = 100;

const DISPLAY = { showSystemAttributes: false, showUsageTickets: false, showAdditionalInfo: true };

class ObjectUses extends View {
  /** @type {import("./object.js").OpenObject} */
  object = /** @type {any} */ (undefined);

  /** @type {Signal<Uses | null>} */
  #uses = new Signal(/** @type {Uses | null} */ (null));
  #fault = new Signal("");

  begin() {
    this.#read().catch((error) => (this.#fault.value = explain(error)));
  }

  async #read() {
    const parts = { object: this.object.loid };
    const [drawers, links, family] = await Promise.all([
      call("GET", "v3/container/drawer/object/{object}", { parts, query: { ...DISPLAY, limit: MOST } }),
      call("GET", "v3/object/{object}/correlates", { parts, query: DISPLAY }),
      call("GET", "v3/object/{object}/family", { parts, query: { ...DISPLAY, limit: MOST } }),
    ]);
    this.#uses.value = {
      drawers: drawers.result.items.slice(0, MOST).map((/** @type {any} */ drawer) => entryOf(drawer.info)),
      links: links.result.items.map((/** @type {any} */ { linkName, object }) => ({ name: linkName, entry: object.hidden ? null : entryOf(object) })),
      family: family.result.items.slice(0, MOST).filter((/** @type {any} */ one) => one.id !== this.object.loid).map((/** @type {any} */ one) => entryOf(one)),
    };
  }

  template() {
    const uses = this.#uses.value;
    const tickets = list(this.object.record.value?.usageTickets?.tl?.use);
    if (this.#fault.value) return html`<p class="fault">${this.#fault.value}</p>`;
    if (!uses) return "";
    const { drawers, links, family } = uses;
    if (drawers.length + links.length + family.length + tickets.length === 0) {
      return html`<div class="nothing"><p><b>${text().notUsed}</b></p><p>${text().notUsedHint}</p></div>`;
    }
    return html`
      ${section(text().inDrawers, drawers.map((entry) => row(entry, "")))}
      ${section(text().links, links.map(({ name, entry }) => (entry ? row(entry, name) : html`<li>${text().hiddenObject}<small>${name}</small></li>`)))}
      ${section(text().sameFamily, family.map((entry) => row(entry, "")))}
      ${section(text().tickets, tickets.map((ticket) => ticketRow(/** @type {any} */ (ticket))))}`;
  }
}

/**
 * @param {string} title
 * @param {unknown[]} rows
 */
const section = (title, rows) => (rows.length === 0 ? "" : html`<section class="uses"><h2>${title}</h2><ul>${rows}</ul></section>`);

/**
 * @param {Entry} entry
 * @param {string} note
 */
const row = (entry, note) => html`
  <li>${thumbnail(entry)}<div class="body"><a href=${addressOf(entry)}>${entry.title}</a>
    ${note ? html`<small>${note}</small>` : ""}${facts(entry)}</div></li>`;

/** @param {any} ticket */
function ticketRow(ticket) {
  const at = Number(ticket["@at"]) * 1000;
  return html`<li><div class="body">${ticket["@kind"] ?? ""} ${ticket["@name"] ?? ""}
    <p class="facts">${at > 0 ? html`<time title=${moment(at)}>${text().by(fullName(ticket["@user"] ?? ""), ago(at))}</time>` : ""}</p></div></li>`;
}

customElements.define("object-uses", ObjectUses);
