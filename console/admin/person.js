// The form of one person.

import { call } from "../api/calls.js";
import { readGroups, readRights, user } from "../api/people.js";
import { html } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { ask } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { ago, moment, text } from "../text/index.js";
import { FormState, enterPanel, explainFault, valuesOf } from "./section.js";

/**
 * @typedef {{ name: string, fullName: string, description: string, disabled: boolean, groups: string[], home: string, workFolder: string,
 *   team: string, homeEmail: string, businessEmail: string, passwordChanged: number | null }} User
 */

/** The fields that are texts. */
const TEXTS = /** @type {const} */ (["fullName", "description", "team", "businessEmail", "homeEmail", "workFolder", "home"]);

/** The largest number of groups that can be ticked here; those of the person come first. */
const MOST_GROUPS = 300;

/** What belongs to a group in the names of fields, so that no group's name can be that of another field. */
const GROUP = "group:";

class PersonForm extends View {
  /** Empty for a new person. */
  name = "";
  /** @type {(name: string) => void} */
  saved = () => {};
  closed = () => {};

  /** @type {Signal<User | null>} */
  #user = new Signal(/** @type {User | null} */ (null));
  /** @type {Signal<string[]>} */
  #groups = new Signal(/** @type {string[]} */ ([]));
  /** Whether there are more groups than are shown. */
  #areMore = new Signal(false);
  #isRead = new Signal(false);
  #form = new FormState();

  begin() {
    this.#read();
    enterPanel(this, "h3");
  }

  async #read() {
    try {
      const [groups, reply] = await Promise.all([
        readGroups(),
        this.name ? call("GET", "v3/user/{name}", { parts: { name: this.name } }) : null,
      ]);
      const mine = reply?.result.groups ?? [];
      const others = groups.map(({ groupName }) => groupName).filter((name) => !mine.includes(name));
      const shown = [...mine, ...others.slice(0, Math.max(0, MOST_GROUPS - mine.length))];
      this.#areMore.value = shown.length < groups.length;
      this.#groups.value = this.#areMore.now ? shown : groups.map(({ groupName }) => groupName);
      this.#user.value = reply?.result ?? null;
      this.#isRead.value = true;
      requestAnimationFrame(() => this.name || this.querySelector("input")?.focus());
    } catch (error) {
      this.#form.fault.value = explainFault(error);
    }
  }

  template() {
    const t = text().admin.people;
    return html`
      <section aria-labelledby="person-title">
        <header><h3 id="person-title" tabindex="-1">${this.name ? this.#user.value?.fullName || this.name : t.newPerson}</h3>
          <button class="plain" aria-label=${text().close} @click=${() => this.closed()}>${icon("close")}</button></header>
        ${this.#isRead.value ? this.#fields() : html`<p class="fault" role="alert">${this.#form.fault.value}</p>`}
      </section>`;
  }

  #fields() {
    const t = text().admin.people;
    const one = this.#user.value;
    return html`
      <form @submit=${(/** @type {Event} */ event) => this.#submit(valuesOf(event))}>
        ${one ? html`<p class="hint">${t.signsInAs(one.name)}${one.passwordChanged ? html` · <time title=${moment(one.passwordChanged * 1000)}>${t.passwordFrom(ago(one.passwordChanged * 1000))}</time>` : html` · ${t.noPassword}`}</p>` : html`
          <label>${text().user}<input name="name" maxlength="255" required autocomplete="off" spellcheck="false"></label>
          <label>${text().password}<input name="password" type="password" maxlength="1024" autocomplete="new-password"></label>
          <p class="hint">${t.passwordHint}</p>`}
        <div class="fields">${TEXTS.map((name) => html`
          <label>${t.fields[name]}<input name=${name} value=${one?.[name] ?? ""} type=${name.endsWith("Email") ? "email" : "text"} maxlength="4096" autocomplete="off"></label>`)}
        </div>
        <fieldset><legend>${t.groups}</legend>
          ${this.#groups.value.map((group) => html`
            <label class="tick"><input type="checkbox" name=${GROUP + group} value="1" ?checked=${one?.groups.includes(group)}><span>${group}</span></label>`)}
          ${this.#areMore.value ? html`<p class="hint">${t.moreGroups}</p>` : ""}
          ${this.#groups.value.length === 0 ? html`<p class="hint">${t.noGroups}</p>` : ""}
        </fieldset>
        <p class="fault" role="alert">${this.#form.fault.value}</p>
        <footer>
          <button class="primary" ?disabled=${this.#form.isBusy.value}>${one ? text().save : text().create}</button>
          ${one ? html`
            <button type="button" @click=${() => this.#password(one)}>${t.newPassword}</button>
            <button type="button" class=${one.disabled ? "" : "risky"} @click=${() => this.#disable(one)}>${one.disabled ? t.enable : t.disable}</button>` : ""}
        </footer>
      </form>`;
  }

  /** @param {Record<string, string>} values */
  #submit(values) {
    return this.#form.run(async () => {
      const before = this.#user.now;
      /** @type {Record<string, unknown>} */
      const body = {};
      for (const name of TEXTS) if (values[name] !== (before?.[name] ?? "")) body[name] = values[name];
      const groups = this.#groups.now.filter((group) => GROUP + group in values);
      if (groups.join("/") !== [...(before?.groups ?? [])].sort(byOrderOf(this.#groups.now)).join("/")) body.groups = groups;
      if (before) {
        if (await this.#isBehind(before, body)) return;
        await this.#change(body);
        notify(text().admin.saved);
        this.saved(before.name);
        return;
      }
      const { result } = await call("POST", "v3/user", { body: { ...body, name: values.name, password: values.password || undefined } });
      notify(text().admin.people.added(result.name));
      this.saved(result.name);
    });
  }

  /**
   * Whether somebody else has changed the same fields since the form was read. Fields that nobody has touched here then
   * show the present state, and the next attempt replaces it.
   * @param {User} before
   * @param {Record<string, unknown>} body
   */
  async #isBehind(before, body) {
    const present = (await call("GET", "v3/user/{name}", { parts: { name: before.name } })).result;
    this.#user.value = present;
    const isSame = Object.keys(body).every((field) => String(present[field]) === String(before[/** @type {keyof User} */ (field)]));
    if (!isSame) this.#form.fault.value = text().admin.changedMeanwhile;
    return !isSame;
  }

  /** @param {Record<string, unknown>} body */
  async #change(body) {
    const { result } = await call("PUT", "v3/user/{name}", { parts: { name: this.name }, body });
    this.#user.value = result;
    if (user.now?.name === this.name && body.groups) await readRights(this.name);
  }

  /** @param {User} one */
  #password(one) {
    const t = text().admin.people;
    const fields = html`<p>${t.passwordEnds}</p>
      <label>${t.newPasswordOf(one.fullName || one.name)}<input name="password" type="password" maxlength="1024" autocomplete="new-password" required autofocus></label>
      <p class="hint">${t.passwordHint}</p>`;
    ask(t.newPassword.replace(/\s*…$/, ""), fields, text().save, ({ password }) =>
      this.#change({ password }).then(() => notify(t.passwordSet(one.name)), explainFault));
  }

  /** @param {User} one */
  #disable(one) {
    const t = text().admin.people;
    const isOff = !one.disabled;
    const change = () => this.#change({ disabled: isOff }).then(() => this.saved(one.name));
    if (!isOff) return void this.#form.run(change);
    ask(t.disableSure(one.fullName || one.name), html`<p>${t.disableHint}</p>`, t.disable.replace(/\s*…$/, ""), () => change().then(() => {}, explainFault));
  }
}

/**
 * Compares by the order in another list.
 * @param {string[]} list
 */
const byOrderOf = (list) => (/** @type {string} */ one, /** @type {string} */ other) => list.indexOf(one) - list.indexOf(other);

customElements.define("person-form", PersonForm);
