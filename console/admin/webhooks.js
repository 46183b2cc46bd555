// The webhooks: which systems are told of changes, and whether they take it.

import { html, keyed } from "../lib/html.js";
import { Signal, effect } from "../lib/view.js";
import { icon } from "../parts/signs.js";
import { halfMinute, text } from "../text/index.js";
import { Listing, ListSection, head, nothing } from "./section.js";
import { shownSecret } from "./secret.js";
import { LOOKS } from "./webhook.js";

/**
 * @typedef {object} Webhook Times are in epoch milliseconds.
 * @property {string} id
 * @property {string} url
 * @property {string} description
 * @property {string[]} kinds
 * @property {string | null} container
 * @property {string | null} below
 * @property {string} owner
 * @property {"active" | "failing" | "paused" | "ownerDisabled" | "ended"} state
 * @property {string | null} ended
 * @property {string} position
 * @property {number} delivered
 * @property {{ attempts: number, next: number } | null} failure
 */

class AdminWebhooks extends ListSection {
  /** @type {Listing<Webhook>} */
  #list = new Listing("v3/webhook");
  /** @type {Signal<{ url: string, secret: string } | null>} */
  #made = new Signal(/** @type {{ url: string, secret: string } | null} */ (null));

  constructor() {
    super("webhooks", "data-webhook");
  }

  /** @override */
  begin() {
    super.begin();
    // Nothing tells of deliveries, so they are asked for.
    this.during(effect(() => (void halfMinute(), void this.#list.read())));
  }

  template() {
    const t = text().admin.webhooks;
    const list = this.#list.items.value;
    const made = this.#made.value;
    const chosen = list?.find(({ id }) => id === this.chosen.value);
    const isOpen = this.isNew.value || chosen !== undefined;
    return html`
      ${head(text().admin.sections.webhooks, t.lead, html`
        <button class="primary" @click=${() => this.add()}>${icon("add")}${t.add}</button>`)}
      ${made ? shownSecret(t.made(made.url), made.secret, () => (this.#made.value = null)) : ""}
      <div class=${isOpen ? "split open broad" : "split"}>
        <div class="rows">
          ${list?.length === 0 ? nothing(t.none, t.noneHint) : ""}
          <ul class="choose">${keyed(list ?? [], ({ id }) => id, (one) => html`
            <li><a href=${`#/admin/webhooks/${encodeURIComponent(one.id)}`} data-webhook=${one.id} aria-current=${one === chosen ? "true" : null}>
              <span class="body"><b>${one.description || one.url}</b><small>${one.description ? one.url : one.kinds.join(", ") || t.allKinds}</small></span>
              <span class=${LOOKS[one.state]}>${t.states[one.state]}</span></a></li>`)}
          </ul>
          ${this.#list.foot()}
        </div>
        ${isOpen ? keyed([chosen?.id ?? ""], (one) => one, () => html`
          <webhook-form class="panel" .webhook=${this.isNew.value ? null : chosen} .closed=${() => this.close()}
            .saved=${(/** @type {string} */ id) => this.#saved(id)} .made=${(/** @type {any} */ made) => (this.#made.value = made)}></webhook-form>`) : ""}
      </div>`;
  }

  /** @param {string} id Empty if it was removed. */
  async #saved(id) {
    await this.#list.read();
    this.openEntry(id);
  }
}

customElements.define("admin-webhooks", AdminWebhooks);
