// One webhook: its settings, its state, and what became of the last deliveries.

import { call } from "../api/calls.js";
import { fullName, user } from "../api/people.js";
import "../find/picker.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View, effect } from "../lib/view.js";
import { ask } from "../parts/dialog.js";
import { openMenu } from "../parts/menu.js";
import { notify } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { ago, halfMinute, moment, text } from "../text/index.js";
import { FormState, Listing, enterPanel, explainFault, pathOf, valuesOf } from "./section.js";

/** @typedef {import("./webhooks.js").Webhook} Webhook */
/** @typedef {{ event: string | null, kind: string, at: number, milliseconds: number, status: number | null, error: string | null }} Delivery */

/** What limits the events: a folder, or one container. @typedef {"below" | "container"} Limit */

/** The looks of the states. @type {Record<Webhook["state"], string>} */
export const LOOKS = { active: "badge good", failing: "badge bad", paused: "badge", ownerDisabled: "badge warn", ended: "badge bad" };

class WebhookForm extends View {
  /** Null for a new one. @type {Signal<Webhook | null>} */
  #webhook = new Signal(/** @type {Webhook | null} */ (null));
  /** The settings that the form began with: others may have changed them since. @type {Webhook | null} */
  #base = null;
  closed = () => {};
  /** @type {(id: string) => Promise<void> | void} */
  saved = () => {};
  /** @type {(made: { url: string, secret: string }) => void} */
  made = () => {};

  /** The folder or container that was chosen: what is sent, and what is shown. @type {Signal<Partial<Record<Limit, { source: string, path: string }>>>} */
  #limits = new Signal(/** @type {Partial<Record<Limit, { source: string, path: string }>>} */ ({}));
  /** @type {Listing<Delivery> | null} */
  #deliveries = null;
  #form = new FormState();
  /** What became of the last test. @type {Signal<Delivery | null>} */
  #test = new Signal(/** @type {Delivery | null} */ (null));

  /** @param {Webhook | null} webhook */
  set webhook(webhook) {
    this.#webhook.value = webhook;
  }

  begin() {
    const webhook = this.#webhook.now;
    this.#base = webhook;
    if (webhook) {
      this.#deliveries = new Listing(`v3/webhook/${encodeURIComponent(webhook.id)}/delivery`);
      this.during(effect(() => (void halfMinute(), void this.#deliveries?.read())));
    }
    for (const limit of /** @type {Limit[]} */ (["below", "container"])) {
      const source = webhook?.[limit];
      if (source) pathOf(source).then((path) => this.#limit(limit, source, path));
    }
    enterPanel(this, webhook ? "h3" : "input");
  }

  template() {
    const t = text().admin.webhooks;
    const one = this.#webhook.value;
    return html`
      <section aria-labelledby="webhook-title">
        <header><h3 id="webhook-title" tabindex="-1">${one ? one.description || one.url : t.newWebhook}</h3>
          ${one ? html`<span class=${LOOKS[one.state]}>${t.states[one.state]}</span>
            <button class="plain" aria-haspopup="menu" aria-label=${text().moreActions} @click=${(/** @type {Event} */ event) => this.#menu(event, one)}>${icon("more")}</button>` : ""}
          <button class="plain" aria-label=${text().close} @click=${() => this.closed()}>${icon("close")}</button></header>
        ${one ? this.#state(one) : ""}
        <form id="webhook-form" @submit=${(/** @type {Event} */ event) => this.#submit(valuesOf(event))}>
          <label>${t.url}<input name="url" type="url" value=${one?.url ?? ""} maxlength="2048" required placeholder="https://"></label>
          <label>${text().drawerDescription}<input name="description" value=${one?.description ?? ""} maxlength="1024"></label>
          <label>${t.kinds}<input name="kinds" value=${one?.kinds.join(", ") ?? ""} placeholder=${t.allKinds} spellcheck="false"></label>
          <p class="hint">${t.kindsHint}</p>
        </form>
        <h4>${t.where}</h4>
        ${this.#place("below", "folder")}${this.#place("container", "")}
        <p class="fault" role="alert">${this.#form.fault.value}</p>
        <footer><button class="primary" form="webhook-form" ?disabled=${this.#form.isBusy.value}>${one ? text().save : text().create}</button>
          ${one ? html`
            <button ?disabled=${this.#form.isBusy.value} @click=${() => this.#sendTest(one)}>${t.test}</button>
            <button ?disabled=${this.#form.isBusy.value} @click=${() => this.#pause(one)}>${one.state === "paused" || one.state === "ended" ? t.resume : t.pause}</button>` : ""}
        </footer>
        ${one ? this.#log() : ""}
      </section>`;
  }

  /** @param {Webhook} one */
  #state(one) {
    const t = text().admin.webhooks;
    const { failure, ended } = one;
    return html`
      <p class="hint">${t.facts(fullName(one.owner), one.delivered)}</p>
      ${ended ? html`<p class="outcome bad">${ended}</p>` : ""}
      ${failure ? html`<p class="outcome bad">${t.failing(failure.attempts)} ${t.again(ago(failure.next))}</p>` : ""}`;
  }

  /**
   * @param {Limit} limit
   * @param {string} families
   */
  #place(limit, families) {
    const t = text().admin.webhooks;
    const chosen = this.#limits.value[limit];
    if (chosen) return html`
      <p class="chosen"><span>${t.limits[limit]}: <b>${chosen.path}</b></span>
        <button type="button" class="plain" aria-label=${t.removeLimit(t.limits[limit])} @click=${() => this.#limit(limit, "", "")}>${icon("close")}</button></p>`;
    return html`
      <p class="hint">${t.limits[limit]}</p>
      <object-picker .families=${families} .verb=${text().admin.choose} .label=${`${text().admin.choose}: ${t.limits[limit]}`}
        .pick=${async (/** @type {string} */ source) => this.#limit(limit, source, await pathOf(source))}></object-picker>`;
  }

  /**
   * @param {Limit} limit
   * @param {string} source Empty to remove it.
   * @param {string} path
   */
  #limit(limit, source, path) {
    this.#limits.value = { ...this.#limits.now, [limit]: source ? { source, path } : undefined };
  }

  #log() {
    const t = text().admin.webhooks;
    const list = this.#deliveries?.items.value;
    const test = this.#test.value;
    return html`
      <h4>${t.deliveries}</h4>
      <div role="status">${test ? html`<p class=${test.error ? "outcome bad" : "outcome good"}>${t.testOutcome}: ${test.error ?? t.accepted(test.status ?? 0)}</p>` : ""}</div>
      ${list?.length === 0 ? html`<p class="hint">${t.noDeliveries}</p>` : ""}
      <ol class="log">${keyed(list ?? [], (one) => `${one.at} ${one.event}`, (one) => html`
        <li class=${one.error ? "bad" : ""}><time title=${moment(one.at)}>${ago(one.at)}</time><code>${one.kind}</code>
          <span>${one.error ?? t.accepted(one.status ?? 0)}</span><small>${t.took(one.milliseconds)}</small></li>`)}</ol>`;
  }

  /** @param {Record<string, string>} values */
  #submit({ url, description, kinds }) {
    return this.#form.run(async () => {
      const before = this.#base;
      const now = { kinds: kinds.split(/[\s,]+/).filter(Boolean), below: this.#limits.now.below?.source ?? "", container: this.#limits.now.container?.source ?? "" };
      if (!before) {
        const { result } = await call("POST", "v3/webhook", { body: { url, description, ...now } });
        this.made({ url: result.webhook.url, secret: result.secret });
        await this.saved(result.webhook.id);
        return;
      }
      // Only what was changed: whoever changes what the receiver is told becomes the owner, and must name the address.
      const told = changesOf(before, now);
      const isTold = Object.keys(told).length > 0 || url !== before.url;
      const isDescribed = description !== before.description;
      await this.#change({ description: isDescribed ? description : undefined, ...told, url: isTold ? url : undefined });
      this.#base = this.#webhook.now;
      notify(text().admin.saved);
    });
  }

  /** @param {Record<string, unknown>} body */
  async #change(body) {
    const { id } = /** @type {Webhook} */ (this.#webhook.now);
    const { result } = await call("PUT", "v3/webhook/{id}", { parts: { id }, body });
    this.#webhook.value = result;
    await this.saved(id);
  }

  /** @param {Webhook} one */
  #pause({ state }) {
    return this.#form.run(() => this.#change({ paused: state !== "paused" && state !== "ended" }));
  }

  /** @param {Webhook} one */
  #sendTest({ id }) {
    return this.#form.run(async () => {
      this.#test.value = (await call("POST", "v3/webhook/{id}/test", { parts: { id } })).result;
      await this.#deliveries?.read();
    });
  }

  /**
   * @param {Event} event
   * @param {Webhook} one
   */
  #menu(event, { id, owner, url }) {
    const t = text().admin.webhooks;
    const position = (/** @type {string} */ to) => () => void this.#form.run(async () => {
      await call("POST", "v3/webhook/{id}/position", { parts: { id }, body: { position: to } });
      await this.saved(id);
      notify(text().admin.saved);
    });
    openMenu(/** @type {Element} */ (event.currentTarget), [
      { label: t.newSecret, act: () => this.#secret(id, url), isOff: owner !== user.now?.name },
      null,
      { label: t.sendAll, act: () => this.#confirm(t.sendAll, t.sendAllHint, position("oldest")) },
      { label: t.skipAll, act: () => this.#confirm(t.skipAll, t.skipAllHint, position("newest")) },
      null,
      { label: t.remove, act: () => this.#remove(id, url), isRisky: true },
    ], url);
  }

  /**
   * @param {string} label
   * @param {string} hint
   * @param {() => void} act
   */
  #confirm(label, hint, act) {
    const title = label.replace(/\s*…$/, "");
    ask(title, html`<p>${hint}</p>`, title, async () => act());
  }

  /**
   * @param {string} id
   * @param {string} url
   */
  #secret(id, url) {
    const t = text().admin.webhooks;
    ask(t.newSecret.replace(/\s*…$/, ""), html`<p>${t.newSecretHint}</p>`, text().create, async () => {
      try {
        const { result } = await call("POST", "v3/webhook/{id}/secret", { parts: { id } });
        this.made({ url, secret: result.secret });
      } catch (error) {
        return explainFault(error);
      }
    });
  }

  /**
   * @param {string} id
   * @param {string} url
   */
  #remove(id, url) {
    const t = text().admin.webhooks;
    ask(t.removeSure(url), html`<p>${t.removeHint}</p>`, t.remove.replace(/\s*…$/, ""), async () => {
      try {
        await call("DELETE", "v3/webhook/{id}", { parts: { id } });
      } catch (error) {
        return explainFault(error);
      }
      notify(t.removed);
      await this.saved("");
    });
  }
}

/**
 * The settings that differ from those before.
 * @param {Webhook} before
 * @param {{ kinds: string[], below: string, container: string }} now
 */
function changesOf(before, now) {
  /** @type {Record<string, unknown>} */
  const changes = {};
  if (now.kinds.join() !== before.kinds.join()) changes.kinds = now.kinds;
  for (const limit of /** @type {const} */ (["below", "container"])) if (now[limit] !== (before[limit] ?? "")) changes[limit] = now[limit];
  return changes;
}

customElements.define("webhook-form", WebhookForm);
