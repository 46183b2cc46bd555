// The groups: who belongs to them, and what their members may do where.

import { call } from "../api/calls.js";
import { fullName, readGroups, readRights, user } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { ask } from "../parts/dialog.js";
import { notify } from "../parts/notices.js";
import { besideName, icon } from "../parts/signs.js";
import { text } from "../text/index.js";
import { FormState, ListSection, enterPanel, explainFault, head, nothing, valuesOf } from "./section.js";
import "./grants.js";
import "./person-picker.js";

/** @typedef {import("./privileges.js").Group} Group */

/** The groups and members that are shown at once, and by how many more each time. */
const PAGE = 100;

class AdminGroups extends ListSection {
  /** @type {Signal<Group[] | null>} */
  #list = new Signal(/** @type {Group[] | null} */ (null));
  #fault = new Signal("");
  #most = new Signal(PAGE);

  constructor() {
    super("groups", "data-group");
  }

  /** @override */
  begin() {
    super.begin();
    this.#read();
  }

  async #read() {
    try {
      this.#list.value = await readGroups();
    } catch (error) {
      this.#fault.value = explainFault(error);
    }
  }

  template() {
    const t = text().admin.groups;
    const list = this.#list.value;
    const group = list?.find(({ groupName }) => groupName === this.chosen.value);
    const isOpen = this.isNew.value || group !== undefined;
    return html`
      ${head(text().admin.sections.groups, t.lead, html`
        <button class="primary" @click=${() => this.add()}>${icon("add")}${t.add}</button>`)}
      <p class="fault" role="alert">${this.#fault.value}</p>
      <div class=${isOpen ? "split open broad" : "split"}>
        <div class="rows">
          ${list?.length === 0 ? nothing(t.none, t.noneHint) : ""}
          <ul class="choose">${keyed((list ?? []).slice(0, this.#most.value), ({ groupName }) => groupName, (one) => html`
            <li><a href=${`#/admin/groups/${encodeURIComponent(one.groupName)}`} data-group=${one.groupName} aria-current=${one === group ? "true" : null}>
              <span class="body"><b>${one.groupName}</b><small>${one.description}</small></span>
              <span class="badge">${t.members(one.members.length)}</span></a></li>`)}
          </ul>
          ${(list?.length ?? 0) > this.#most.value ? html`<button class="more" @click=${() => (this.#most.value += PAGE)}>${text().showMore}</button>` : ""}
        </div>
        ${isOpen ? keyed([group?.groupName ?? ""], (one) => one, () => html`
          <group-form class="panel" .group=${this.isNew.value ? null : group} .saved=${(/** @type {string} */ name) => this.#saved(name)} .closed=${() => this.close()}></group-form>`) : ""}
      </div>`;
  }

  /** @param {string} name Empty if it was deleted. */
  async #saved(name) {
    await this.#read();
    this.openEntry(name);
    if (user.now) await readRights(user.now.name);
  }
}

class GroupForm extends View {
  /** The group as the form knows it; null for a new one. Read again before a change of it is sent. @type {Group | null} */
  group = null;
  /** @type {(name: string) => Promise<void> | void} */
  saved = () => {};
  closed = () => {};

  /** @type {Signal<string[]>} */
  #members = new Signal(/** @type {string[]} */ ([]));
  #most = new Signal(PAGE);
  #form = new FormState();

  begin() {
    this.#members.value = this.group?.members ?? [];
    const table = () => /** @type {import("./grants.js").GrantsTable} */ (this.querySelector("grants-table"));
    requestAnimationFrame(() => (table().grants = this.group?.privileges ?? []));
    enterPanel(this, this.group ? "h3" : "input");
  }

  template() {
    const t = text().admin.groups;
    const group = this.group;
    const members = this.#members.value;
    return html`
      <section aria-labelledby="group-title">
        <header><h3 id="group-title" tabindex="-1">${group?.groupName ?? t.newGroup}</h3>
          <button class="plain" aria-label=${text().close} @click=${() => this.closed()}>${icon("close")}</button></header>
        <form id="group-form" @submit=${(/** @type {Event} */ event) => this.#submit(valuesOf(event))}>
          ${group ? "" : html`<label>${t.name}<input name="name" maxlength="255" required autocomplete="off"></label>`}
          <label>${text().drawerDescription}<input name="description" value=${group?.description ?? ""} maxlength="4096" autocomplete="off"></label>
        </form>
        <h4>${t.membersTitle}</h4>
        <ul class="chips">${keyed(members.slice(0, this.#most.value), (name) => name, (name) => html`
          <li>${besideName(name)}<span>${fullName(name)}</span><button type="button" class="plain" aria-label=${t.leave(fullName(name))}
            @click=${() => (this.#members.value = members.filter((one) => one !== name))}>${icon("close")}</button></li>`)}</ul>
        ${members.length > this.#most.value ? html`<button class="more" @click=${() => (this.#most.value += PAGE)}>${text().showMore}</button>` : ""}
        <form class="inline" @submit=${(/** @type {Event} */ event) => this.#join(event)}>
          <person-picker .field=${"member"} .label=${t.addMember} .required=${true}></person-picker><button>${text().add}</button></form>
        <h4>${text().admin.grants.title}</h4>
        <p class="hint">${text().admin.grants.hint}</p>
        <grants-table></grants-table>
        <p class="fault" role="alert">${this.#form.fault.value}</p>
        <footer><button class="primary" form="group-form" ?disabled=${this.#form.isBusy.value}>${group ? text().save : text().create}</button>
          ${group ? html`<button type="button" class="risky" @click=${() => this.#delete(group)}>${t.delete}</button>` : ""}</footer>
      </section>`;
  }

  /** @param {Event} event */
  #join(event) {
    const { member } = valuesOf(event);
    const name = member.trim();
    if (name && !this.#members.now.includes(name)) this.#members.value = [...this.#members.now, name];
    /** @type {HTMLFormElement} */ (event.target).reset();
  }

  /** @param {Record<string, string>} values */
  #submit(values) {
    const { grants } = /** @type {import("./grants.js").GrantsTable} */ (this.querySelector("grants-table"));
    return this.#form.run(async () => {
      const before = this.group;
      const now = { description: values.description, members: this.#members.now, privileges: grants };
      if (!before) {
        await call("POST", "v3/group/create", { body: { groupName: values.name, ...now } });
        notify(text().admin.groups.added(values.name));
        await this.saved(values.name.trim());
        return;
      }
      const body = changesOf(before, now);
      const present = (await readGroups()).find(({ groupName }) => groupName === before.groupName) ?? null;
      this.group = present ?? before;
      if (present && Object.keys(changesOf(before, present)).some((field) => field in body)) {
        this.#form.fault.value = text().admin.changedMeanwhile;
        return;
      }
      await call("POST", "v3/group/update", { body: { groupName: before.groupName, ...body } });
      this.group = { ...before, ...now };
      notify(text().admin.saved);
      await this.saved(before.groupName);
    });
  }

  /** @param {Group} group */
  #delete({ groupName }) {
    const t = text().admin.groups;
    ask(t.deleteSure(groupName), html`<p>${t.deleteHint}</p>`, t.delete.replace(/\s*…$/, ""), async () => {
      try {
        await call("DELETE", "v3/group/delete", { query: { groupName } });
      } catch (error) {
        return explainFault(error);
      }
      notify(t.deleted(groupName));
      await this.saved("");
    });
  }
}

/**
 * The fields of a group in which it differs from another state of it.
 * @param {Omit<Group, "groupName">} before
 * @param {Omit<Group, "groupName">} now
 */
function changesOf(before, now) {
  /** @type {Partial<Group>} */
  const changes = {};
  if (now.description !== before.description) changes.description = now.description;
  if (signOf(now.members) !== signOf(before.members)) changes.members = now.members;
  const grants = (/** @type {Group["privileges"]} */ list) => signOf(list.map(({ privilege, folder }) => `${privilege} ${folder ?? ""}`));
  if (grants(now.privileges) !== grants(before.privileges)) changes.privileges = now.privileges;
  return changes;
}

/** @param {string[]} list */
const signOf = (list) => JSON.stringify([...list].sort());

customElements.define("group-form", GroupForm);
customElements.define("admin-groups", AdminGroups);
