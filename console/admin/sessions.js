// Who is signed in: everybody for those who manage groups, one's own sessions for all others.

import { call } from "../api/calls.js";
import { fullName, rights, signOut } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { View, effect } from "../lib/view.js";
import { ask } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { besideName } from "../parts/signs.js";
import { ago, halfMinute, moment, text } from "../text/index.js";
import { Listing, explainFault, head, valuesOf } from "./section.js";
import "./person-picker.js";

/**
 * @typedef {{ id: string, user: string, applicationId: string, address: string, created: number, lastUsed: number, expires: number,
 *   current: boolean }} Session Times are in epoch seconds.
 */

class AdminSessions extends View {
  #isAll = rights.now?.has("manageGroups") ?? false;
  /** @type {Listing<Session>} */
  #list = new Listing("v3/session", { query: { all: this.#isAll || undefined } });

  begin() {
    // Nothing tells of new sessions, so they are asked for.
    this.during(effect(() => (void halfMinute(), void this.#list.read())));
  }

  template() {
    const t = text().admin.sessions;
    return html`
      ${head(text().admin.sections.sessions, this.#isAll ? t.lead : t.leadOwn, this.#isAll ? html`
        <form class="inline" @submit=${(/** @type {Event} */ event) => this.#filter(valuesOf(event).user.trim())}>
          <person-picker .field=${"user"} .label=${t.ofPerson}></person-picker><button>${text().admin.show}</button></form>` : "")}
      ${this.#table(this.#list.items.value ?? [])}
      ${this.#list.foot()}`;
  }

  /** @param {Session[]} list */
  #table(list) {
    const t = text().admin.sessions;
    void halfMinute();
    if (list.length === 0) return "";
    return html`
      <div class="wide" role="region" aria-label=${text().admin.sections.sessions} tabindex="0"><table class="plain-rows">
        <thead><tr><th scope="col">${t.person}</th><th scope="col">${t.application}</th><th scope="col">${t.address}</th>
          <th scope="col">${t.since}</th><th scope="col">${t.lastUsed}</th><th scope="col">${t.ends}</th><td></td></tr></thead>
        <tbody>${keyed(list, ({ id }) => id, (one) => html`
          <tr data-session=${one.id}>
            <th scope="row"><span class="who">${besideName(one.user)}<span>${fullName(one.user)}${one.current ? html`<small>${t.current}</small>` : ""}</span></span></th>
            <td>${one.applicationId}</td>
            <td>${one.address}</td>
            ${[one.created, one.lastUsed, one.expires].map((at) => html`<td><time title=${moment(at * 1000)}>${ago(at * 1000)}</time></td>`)}
            <td><button @click=${() => this.#end(one)} aria-label=${t.endOf(fullName(one.user))}>${t.end}</button></td>
          </tr>`)}</tbody>
      </table></div>`;
  }

  /** @param {string} name Empty for everybody. */
  #filter(name) {
    this.#list.options = { query: name ? { user: name } : { all: true } };
    this.#list.read();
  }

  /** @param {Session} session */
  #end(session) {
    const t = text().admin.sessions;
    const who = fullName(session.user);
    const hint = session.current ? t.endOwnHint : t.endHint;
    ask(t.endSure(who), html`<p>${hint}</p>`, t.end.replace(/\s*…$/, ""), async () => {
      try {
        // That also removes the cookie, without which one can sign in again.
        if (session.current) return await signOut();
        await call("DELETE", "v3/session/{id}", { parts: { id: session.id } });
      } catch (error) {
        return explainFault(error);
      }
      notify(t.ended(who));
      await this.#list.read();
    });
  }
}

customElements.define("admin-sessions", AdminSessions);
