// The page of drawers: several side by side, and what can be found beside them.

import { call, partsOfAddress } from "../api/calls.js";
import { user } from "../api/people.js";
import { Signal, View } from "../lib/view.js";
import { html, keyed } from "../lib/html.js";
import { entryOf } from "../parts/entry.js";
import { icon } from "../parts/signs.js";
import { notify, notifyFault } from "../parts/notices.js";
import { explain, text } from "../text/index.js";
import { Drawer } from "./drawer.js";
import "./column.js";
import "../find/panel.js";

/** The number of drawers that a first visit opens: the oldest, which a newsroom usually has for good. */
const FIRST = 3;

/** The largest number of open drawers: a stream follows 64 containers. */
const MOST = 24;

/** The characters of a title that are used in the name, which has at most 255 bytes. */
const LONGEST_NAME = 60;

/** The time between two signs that this session is here, in milliseconds. */
const SIGN = 20_000;

/** @typedef {{ id: string, title: string, name: string }} Known A drawer that can be opened. */

class DrawersPage extends View {
  /** @type {Signal<Drawer[]>} */
  #open = new Signal(/** @type {Drawer[]} */ ([]));
  /** @type {Signal<Known[] | null>} All drawers that the user may read. */
  #known = new Signal(/** @type {Known[] | null} */ (null));
  #finds = new Signal(innerWidth > 1100);

  begin() {
    const signs = setInterval(() => this.#open.now.forEach((drawer) => drawer.stay()), SIGN);
    this.during(() => clearInterval(signs));
    this.during(() => this.#open.now.forEach((drawer) => drawer.close()));
    const follow = () => partsOfAddress()[0] === "drawers" && this.#show(this.#named());
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    this.#start().catch(notifyFault);
  }

  async #start() {
    const kept = localStorage.getItem(this.#keptUnder);
    const named = this.#named();
    if (named.length > 0) this.#show(named);
    else if (kept) this.#show(kept.split(","));
    await this.#readKnown();
    // Meanwhile somebody may have opened one, or gone to another page.
    const isHere = this.isConnected && ["", "drawers"].includes(partsOfAddress()[0]);
    const isFirst = kept === null && this.#open.now.length === 0 && isHere;
    if (isFirst) this.#show((this.#known.now ?? []).slice(0, FIRST).map(({ id }) => id));
  }

  get #keptUnder() {
    return `stet.drawers.${user.now?.name}`;
  }

  /** The drawers that the address names. */
  #named() {
    const [page, loids] = partsOfAddress();
    return page === "drawers" ? loids.split(",").filter(Boolean) : [];
  }

  async #readKnown() {
    const query = { families: "drawer", sort: "name", limit: 100, highlight: false };
    const { result } = await call("GET", "v3/search", { query });
    this.#known.value = result.items.map((/** @type {any} */ item) => {
      const { id, title, name } = entryOf(item);
      return { id, title, name };
    });
    // By age, since later objects have higher numbers.
    this.#known.now?.sort((one, other) => numberOf(one.id) - numberOf(other.id));
  }

  /** @param {string[]} loids */
  #show(loids) {
    const all = [...new Set(loids)];
    const wanted = all.slice(0, MOST);
    if (all.length > MOST) notify(text().tooManyDrawers(MOST));
    const open = this.#open.now;
    if (wanted.join() === open.map((drawer) => drawer.loid).join()) return;
    for (const drawer of open) if (!wanted.includes(drawer.loid)) drawer.close();
    const there = new Map(open.map((drawer) => [drawer.loid, drawer]));
    this.#open.value = wanted.map((loid) => there.get(loid) ?? new Drawer(loid));
    for (const drawer of this.#open.now) if (!open.includes(drawer)) drawer.open();
    localStorage.setItem(this.#keptUnder, wanted.join(","));
    history.replaceState(null, "", `#/drawers/${wanted.join(",")}`);
  }

  /** @type {import("./column.js").Desk} */
  #desk = {
    drawers: () => this.#open.now,
    close: (drawer) => this.#show(this.#open.now.filter((other) => other !== drawer).map(({ loid }) => loid)),
    shift: (drawer, by) => {
      const loids = this.#open.now.map(({ loid }) => loid);
      const at = loids.indexOf(drawer.loid);
      loids.splice(at + by, 0, ...loids.splice(at, 1));
      this.#show(loids);
    },
  };

  template() {
    const open = this.#open.value;
    return html`
      <div class="drawers">
        <div class="toolbar">
          <h1>${text().drawers}</h1>
          <button @click=${() => void this.#chooseDrawer().catch(notifyFault)}>${icon("drawer")}${text().openDrawer}</button>
          <button @click=${() => void this.#makeDrawer().catch(notifyFault)}>${icon("add")}${text().newDrawer}</button>
          <span class="gap"></span>
          <button aria-pressed=${String(this.#finds.value)} @click=${() => (this.#finds.value = !this.#finds.now)}>${icon("find")}${text().find}</button>
        </div>
        <p id="item-help" class="unseen">${text().itemHelp}</p>
        <div class="desk">
          <div class="columns" data-scrolls="across">
            ${keyed(open, (drawer) => drawer.loid, (drawer) => html`
              <drawer-column .drawer=${drawer} .desk=${this.#desk}></drawer-column>`)}
            ${open.length === 0 ? html`
              <div class="nothing"><p><b>${text().noDrawers}</b></p><p>${text().noDrawersHint}</p></div>` : ""}
          </div>
          ${this.#finds.value ? html`<find-panel .desk=${this.#desk}></find-panel>` : ""}
        </div>
      </div>`;
  }

  async #chooseDrawer() {
    await this.#readKnown().catch(notifyFault);
    const open = new Set(this.#open.now.map(({ loid }) => loid));
    const byTitle = (/** @type {Known} */ one, /** @type {Known} */ other) => one.title.localeCompare(other.title);
    const known = (this.#known.now ?? []).filter(({ id }) => !open.has(id)).sort(byTitle);
    const fields = html`
      <label>${text().findDrawer}
        <input name="words" list="known-drawers" autofocus autocomplete="off" required></label>
      <datalist id="known-drawers">${known.map(({ title, name }) => html`<option value=${title}>${name}</option>`)}</datalist>
      <div class="choices">${known.slice(0, 12).map(({ id, title }) => html`
        <button type="button" @click=${(/** @type {Event} */ event) => this.#add(id, event)}>${title}</button>`)}</div>`;
    const { ask } = await import("../parts/dialog.js");
    ask(text().openDrawer, fields, text().openDrawer, async ({ words }) => {
      const wanted = words.trim().toLocaleLowerCase();
      const found = known.find(({ title, name, id }) => [title, name, id].some((one) => one.toLocaleLowerCase() === wanted))
        ?? known.find(({ title, name }) => `${title} ${name}`.toLocaleLowerCase().includes(wanted));
      if (!found) return text().noSuchDrawers;
      this.#add(found.id);
    });
  }

  /**
   * Opens a drawer beside the others.
   * @param {string} loid
   * @param {Event} [event] That of a button in a dialog, which is closed.
   */
  #add(loid, event) {
    /** @type {Element | undefined} */ (event?.currentTarget ?? undefined)?.closest("dialog")?.close();
    this.#show([...this.#open.now.map((drawer) => drawer.loid), loid]);
    requestAnimationFrame(() => this.querySelector(".columns > :last-of-type")?.scrollIntoView({ inline: "nearest" }));
  }

  async #makeDrawer() {
    const fields = html`
      <label>${text().drawerTitle}<input name="title" maxlength="200" required autofocus></label>
      <label>${text().drawerCapacity}<input name="capacity" type="number" min="1" max="10000" value="30" required></label>`;
    const { ask } = await import("../parts/dialog.js");
    ask(text().newDrawer, fields, text().create, async ({ title, capacity }) => {
      try {
        const name = title.replace(/[/\p{Cc}]/gu, " ").trim().slice(0, LONGEST_NAME) || undefined;
        const body = { title, capacity: Number(capacity), name, createMode: "AUTO_RENAME", folderPath: "/Drawers" };
        const { result } = await call("POST", "v3/container/drawer", { body });
        this.#add(result.info.id);
      } catch (error) {
        return explain(error);
      }
    });
  }
}

/** @param {string} loid */
const numberOf = (loid) => Number(loid.slice(loid.lastIndexOf(".") + 1));

customElements.define("drawers-page", DrawersPage);
