// The keys of programs: who they act as, what they may do, and when they end.

import { call } from "../api/calls.js";
import { fullName } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { ask } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { ago, halfMinute, moment, text } from "../text/index.js";
import { grantsInWords } from "./grants.js";
import { FormState, Listing, explainFault, head, nothing, valuesOf } from "./section.js";
import { shownSecret } from "./secret.js";
import "./person-picker.js";

/**
 * @typedef {{ name: string, user: string, privileges: import("./privileges.js").Grant[], created: number, lastUsed: number, used: boolean,
 *   expires: number | null }} Key Times are in epoch seconds.
 */

class AdminKeys extends View {
  /** @type {Listing<Key>} */
  #list = new Listing("v3/key");
  #isNew = new Signal(false);
  /** The token of the key that was just made. @type {Signal<{ name: string, token: string } | null>} */
  #made = new Signal(/** @type {{ name: string, token: string } | null} */ (null));
  #form = new FormState();

  begin() {
    this.#list.read();
  }

  template() {
    const t = text().admin.keys;
    const made = this.#made.value;
    const list = this.#list.items.value;
    return html`
      ${head(text().admin.sections.keys, t.lead, html`
        <button class="primary" @click=${() => this.#add()}>${icon("add")}${t.add}</button>`)}
      ${made ? shownSecret(t.made(made.name), made.token, () => (this.#made.value = null)) : ""}
      ${this.#isNew.value ? this.#newKey() : ""}
      ${list?.length === 0 ? nothing(t.none, t.noneHint) : ""}
      ${list && list.length > 0 ? this.#table(list) : ""}
      ${this.#list.foot()}`;
  }

  /** @param {Key[]} list */
  #table(list) {
    const t = text().admin.keys;
    void halfMinute();
    return html`
      <div class="wide" role="region" aria-label=${text().admin.sections.keys} tabindex="0"><table class="plain-rows">
        <thead><tr><th scope="col">${t.name}</th><th scope="col">${t.actsAs}</th><th scope="col">${text().admin.grants.title}</th>
          <th scope="col">${t.lastUsed}</th><th scope="col">${t.ends}</th><td></td></tr></thead>
        <tbody>${keyed(list, ({ name }) => name, (key) => html`
          <tr data-key=${key.name}>
            <th scope="row">${key.name}</th>
            <td>${fullName(key.user)}</td>
            <td>${grantsInWords(key.privileges)}</td>
            <td>${key.used ? html`<time title=${moment(key.lastUsed * 1000)}>${ago(key.lastUsed * 1000)}</time>` : t.unused}</td>
            <td>${key.expires ? html`<time title=${moment(key.expires * 1000)}>${ago(key.expires * 1000)}</time>` : t.never}</td>
            <td><button @click=${() => this.#revoke(key)} aria-label=${t.revokeOne(key.name)}>${t.revoke}</button></td>
          </tr>`)}</tbody>
      </table></div>`;
  }

  #newKey() {
    const t = text().admin.keys;
    const today = new Date().toISOString().slice(0, 10);
    return html`
      <div class="panel alone"><section aria-labelledby="key-title">
        <header><h3 id="key-title" tabindex="-1">${t.newKey}</h3>
          <button class="plain" aria-label=${text().close} @click=${() => this.#close()}>${icon("close")}</button></header>
        <form id="key-form" @submit=${(/** @type {Event} */ event) => this.#submit(valuesOf(event))}>
          <div class="fields">
            <label>${t.name}<input name="name" maxlength="255" required autocomplete="off"></label>
            <person-picker .field=${"user"} .label=${t.user} .required=${true}></person-picker>
            <label>${t.endsOn}<input name="expires" type="date" min=${today}></label>
          </div>
        </form>
        <h4>${text().admin.grants.title}</h4>
        <p class="hint">${t.rightsHint}</p>
        <grants-table></grants-table>
        <p class="fault" role="alert">${this.#form.fault.value}</p>
        <footer><button class="primary" form="key-form" ?disabled=${this.#form.isBusy.value}>${text().create}</button></footer>
      </section></div>`;
  }

  #add() {
    this.#isNew.value = true;
    this.#form.fault.value = "";
    requestAnimationFrame(() => this.querySelector("input")?.focus());
  }

  #close() {
    this.#isNew.value = false;
    requestAnimationFrame(() => this.querySelector("button")?.focus());
  }

  /** @param {Record<string, string>} values */
  #submit({ name, user, expires }) {
    const { grants } = /** @type {import("./grants.js").GrantsTable} */ (this.querySelector("grants-table"));
    return this.#form.run(async () => {
      // It ends with that day, where the person is.
      const end = expires ? Math.floor(new Date(`${expires}T23:59:59`).getTime() / 1000) : undefined;
      const { result } = await call("POST", "v3/key", { body: { name, user: user.trim(), privileges: grants, expires: end } });
      this.#made.value = { name: result.key.name, token: result.token };
      this.#isNew.value = false;
      await this.#list.read();
    });
  }

  /** @param {Key} key */
  #revoke({ name }) {
    const t = text().admin.keys;
    ask(t.revokeSure(name), html`<p>${t.revokeHint}</p>`, t.revoke.replace(/\s*…$/, ""), async () => {
      try {
        await call("DELETE", "v3/key/{name}", { parts: { name } });
      } catch (error) {
        return explainFault(error);
      }
      notify(t.revoked(name));
      await this.#list.read();
    });
  }
}

customElements.define("admin-keys", AdminKeys);
