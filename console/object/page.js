// The page of an object: what it contains, its attributes, versions and uses, and what its workflow allows.

import { address, partsOfAddress } from "../api/calls.js";
import { fullName, user } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View, effect } from "../lib/view.js";
import { lastChange, statusDot, thumbnail } from "../parts/card.js";
import { openMenu } from "../parts/menu.js";
import { copy, notify, notifyFault } from "../parts/notices.js";
import { icon, personMark } from "../parts/signs.js";
import { explain, text } from "../text/index.js";
import "./form.js";
import "./preview.js";
import { OpenObject } from "./object.js";
import { nextSteps } from "./workflow.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */

/**
 * What is shown beside the attributes, by the last part of the address.
 * @type {Record<string, { label: () => string, load: () => Promise<unknown>, element: (object: OpenObject) => unknown }>}
 */
const TABS = {
  preview: {
    label: () => text().preview,
    load: () => Promise.resolve(),
    element: (object) => html`<object-preview .object=${object}></object-preview>`,
  },
  source: {
    label: () => text().source,
    load: () => import("./source.js"),
    element: (object) => html`<object-source .object=${object}></object-source>`,
  },
  versions: {
    label: () => text().versions,
    load: () => import("./versions.js"),
    element: (object) => html`<object-versions .object=${object}></object-versions>`,
  },
  uses: {
    label: () => text().uses,
    load: () => import("./uses.js"),
    element: (object) => html`<object-uses .object=${object}></object-uses>`,
  },
  history: {
    label: () => text().history,
    load: () => import("./history.js"),
    element: (object) => html`<object-history .object=${object}></object-history>`,
  },
};

/** How often this session says that it is still here, in milliseconds. */
const STAY = 20_000;

class ObjectPage extends View {
  /** @type {Signal<OpenObject | null>} */
  #object = new Signal(/** @type {OpenObject | null} */ (null));
  #tab = new Signal("preview");
  /** @type {Signal<Set<string>>} The tabs whose modules are there. */
  #loaded = new Signal(new Set());

  begin() {
    const follow = () => this.#follow();
    addEventListener("hashchange", follow);
    const timer = setInterval(() => this.#object.now?.stay(), STAY);
    this.during(() => removeEventListener("hashchange", follow));
    this.during(() => clearInterval(timer));
    this.during(() => this.#object.now?.close());
    this.during(effect(() => {
      const title = this.#object.value?.entry.value?.title;
      if (title) document.title = `${title} – stet`;
    }));
    this.#follow();
  }

  /** Shows what the address names. */
  #follow() {
    const [page, loid, tab] = partsOfAddress();
    if (page !== "object" || !loid) return;
    this.#tab.value = tab in TABS ? tab : "preview";
    this.#load(this.#tab.now).catch(notifyFault);
    if (this.#object.now?.loid === loid) return;
    this.#object.now?.close();
    const object = new OpenObject(loid);
    this.#object.value = object;
    object.open();
  }

  /** @param {string} tab */
  async #load(tab) {
    await TABS[tab].load();
    this.#loaded.now.add(tab);
    this.#loaded.changed();
  }

  template() {
    const object = this.#object.value;
    if (!object) return html`<div class="nothing"><p>${text().noObject}</p></div>`;
    const entry = object.entry.value;
    if (object.state.value === "gone") return html`<div class="nothing"><p><b>${text().objectGone}</b></p></div>`;
    if (!entry) return "";
    const tab = this.#tab.value;
    return html`
      <div class="object" data-scrolls>
        ${this.#head(object, entry)}
        <div class="halves">
          <div class="main-half">
            <nav class="tabs" aria-label=${text().views}>
              ${Object.entries(TABS).map(([name, { label }]) => html`
                <a href=${`#/object/${object.loid}/${name}`} aria-current=${name === tab ? "page" : null}>${label()}</a>`)}
            </nav>
            ${this.#loaded.value.has(tab) ? keyed([tab], (name) => `${object.loid} ${name}`, (name) => html`<div class="tab">${TABS[name].element(object)}</div>`) : ""}
          </div>
          ${keyed([object], ({ loid }) => loid, () => html`<aside aria-label=${text().attributes}><attributes-form .object=${object}></attributes-form></aside>`)}
        </div>
      </div>`;
  }

  /**
   * @param {OpenObject} object
   * @param {Entry} entry
   */
  #head(object, entry) {
    const record = object.record.value;
    const others = new Set(object.present.value.map((one) => one.user).filter((name) => name !== user.value?.name));
    return html`
      <header class="object-head">
        ${thumbnail(entry)}
        <div class="body">
          ${crumbs(record.path ?? "")}
          <h1>${entry.title}</h1>
          <p class="facts"><span>${entry.type}</span><span>${entry.name}</span>${lastChange(entry)}</p>
        </div>
        <div class="actions">
          <span class="people" role="group" aria-label=${text().whoIsHere}>${keyed(others, (name) => name, personMark)}</span>
          ${entry.locker ? this.#lock(object, entry.locker) : ""}
          ${entry.status ? html`
            <button aria-haspopup="menu" class="status-button" aria-label=${text().changeStatus(entry.status)}
              @click=${(/** @type {Event} */ event) => void this.#statusMenu(event, object)}>${statusDot(entry)}${entry.status}</button>` : ""}
          <button class="plain" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${entry.title}`}
            @click=${(/** @type {Event} */ event) => this.#menu(event, object, entry)}>${icon("more")}</button>
        </div>
      </header>`;
  }

  /**
   * @param {OpenObject} object
   * @param {string} holder
   */
  #lock(object, holder) {
    const isMine = holder === user.value?.name;
    return html`<span class="locked">${icon("lock")}${isMine ? text().lockedByYou : text().lockedBy(fullName(holder))}
      <button @click=${() => void this.#breakLock(object, holder)}>${isMine ? text().release : text().forceUnlock}</button></span>`;
  }

  /**
   * @param {OpenObject} object
   * @param {string} holder
   */
  async #breakLock(object, holder) {
    const isMine = holder === user.now?.name;
    const { ask } = await import("../parts/dialog.js");
    const words = html`<p>${isMine ? text().releaseHint : text().forceUnlockHint(fullName(holder))}</p>`;
    ask(isMine ? text().release : text().forceUnlock, words, isMine ? text().release : text().forceUnlock, () => object.breakLock().then(() => {}, explain));
  }

  /**
   * @param {Event} event
   * @param {OpenObject} object
   */
  async #statusMenu(event, object) {
    const button = /** @type {Element} */ (event.currentTarget);
    try {
      const steps = await nextSteps(object.record.now);
      const none = { label: text().noNextStatus, act: () => {}, isOff: true };
      openMenu(button, steps.length === 0 ? [none] : steps.map((step) => ({
        label: step.label,
        act: () => void this.#setStatus(object, step),
      })), text().changeStatus(object.entry.now?.status ?? ""));
    } catch (error) {
      notifyFault(error);
    }
  }

  /**
   * @param {OpenObject} object
   * @param {import("./workflow.js").Step} step
   */
  async #setStatus(object, step) {
    const set = () => object.setStatus(step.status);
    const done = () => notify(text().statusIs(step.status.replace(/^.*\//, "")));
    if (!step.isAsked) return void set().then(done, notifyFault);
    const { ask } = await import("../parts/dialog.js");
    const words = html`<p>${text().statusSure(object.entry.now?.title ?? "", step.status.replace(/^.*\//, ""))}</p>`;
    ask(step.label, words, step.label, () => set().then(done, explain));
  }

  /**
   * @param {Event} event
   * @param {OpenObject} object
   * @param {Entry} entry
   */
  #menu(event, object, entry) {
    const source = address("v3/object/{object}/content", { object: entry.id }).href;
    const hasContent = Boolean(object.record.now.virtualAttributes?.contentType);
    openMenu(/** @type {Element} */ (event.currentTarget), [
      { label: text().rename, act: () => void this.#rename(object, entry).catch(notifyFault) },
      { label: text().moveObject, act: () => void this.#move(object).catch(notifyFault) },
      { label: text().copyAddress, act: () => void copy(entry.id) },
      { label: text().download, act: () => void window.open(source, "_blank", "noopener"), isOff: !hasContent },
      null,
      { label: text().discard, act: () => void this.#discard(object, entry).catch(notifyFault), isRisky: true },
    ], entry.title);
  }

  /**
   * @param {OpenObject} object
   * @param {Entry} entry
   */
  async #rename(object, entry) {
    const { ask } = await import("../parts/dialog.js");
    const fields = html`<label>${text().newName}<input name="name" maxlength="255" .value=${entry.name} required autofocus></label>`;
    ask(text().rename, fields, text().save, ({ name }) => object.rename(name).then(() => {}, explain));
  }

  /** @param {OpenObject} object */
  async #move(object) {
    const { chooseFolder } = await import("../find/choose-folder.js");
    chooseFolder(text().moveTitled(object.entry.now?.title ?? ""), (folder) => object.moveTo(folder), parentPath(object.record.now.path));
  }

  /**
   * @param {OpenObject} object
   * @param {Entry} entry
   */
  async #discard(object, entry) {
    await object.discard();
    notify(text().wasDiscarded(entry.title), {
      label: text().bringBack,
      act: () => void object.restore().catch(notifyFault),
    });
  }
}

/** @param {string} path */
const parentPath = (path) => path.replace(/\/[^/]*$/, "") || "/";

/**
 * The folders in which an object lies.
 * @param {string} path
 */
function crumbs(path) {
  const names = path.split("/").filter(Boolean).slice(0, -1);
  const paths = names.map((_, index) => `/${names.slice(0, index + 1).join("/")}`);
  return html`<nav class="crumbs" aria-label=${text().files}><a href="#/files">/</a>
    ${paths.map((one, index) => html`<a href=${`#/files/${encodeURIComponent(one)}`}>${names[index]}</a>`)}</nav>`;
}

customElements.define("object-page", ObjectPage);
