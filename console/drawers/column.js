// A drawer as a column of cards.

import { fullName, user } from "../api/people.js";
import { sourceOf } from "../find/picker.js";
import { View } from "../lib/view.js";
import { html, keyed } from "../lib/html.js";
import { facts, thumbnail } from "../parts/card.js";
import { besideName, icon, personMark } from "../parts/signs.js";
import { openPage } from "../parts/entry.js";
import { openMenu } from "../parts/menu.js";
import { copy, notify, notifyFault, say } from "../parts/notices.js";
import { ago, explain, halfMinute, moment, text } from "../text/index.js";
import { dragged, mayDrag, place } from "./drag.js";

/** @typedef {import("./drawer.js").Drawer} Drawer */
/** @typedef {import("./drawer.js").Item} Item */

/** The number of cards that are kept although their items have left. */
const SPARE = 100;

/**
 * The other drawers of the page, and what its columns can do.
 * @typedef {object} Desk
 * @property {() => Drawer[]} drawers
 * @property {(drawer: Drawer) => void} close
 * @property {(drawer: Drawer, by: number) => void} shift Moves a column.
 */

export class DrawerColumn extends View {
  /** @type {Drawer} */
  drawer = /** @type {any} */ (undefined);
  /** @type {Desk} */
  desk = /** @type {any} */ (undefined);

  /** The object whose card has the focus, or had it last. */
  #current = "";
  #showsHistory = false;

  /** Cards that were rendered, by object: one that would be the same is not rendered again. */
  #cards = new Map();

  template() {
    const { drawer } = this;
    const state = drawer.state.value;
    if (state === "gone") return this.#gone();
    const { capacity, count, description } = drawer.info.value;
    const title = drawer.title;
    const share = capacity > 0 ? Math.min(1, count / capacity) : 0;
    return html`
      <section class="column" data-drawer=${drawer.loid} aria-label=${title} aria-busy=${String(state === "loading")}
        @paste=${(/** @type {ClipboardEvent} */ event) => this.#paste(event)}>
        <header>
          <div class="title">
            <h2 title=${description}>${title || html`<span class="blank"></span>`}</h2>
            <button class="plain" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${title}`}
              @click=${(/** @type {Event} */ event) => this.#menu(event)}>${icon("more")}</button>
            <button class="plain" aria-label=${`${text().closeDrawer}: ${title}`}
              @click=${() => this.desk.close(drawer)}>${icon("close")}</button>
          </div>
          <div class="fill">
            <svg class=${share === 1 ? "meter full" : "meter"} viewBox="0 0 74 5" aria-hidden="true"><rect width=${74 * share} height="5" rx="2.5" /></svg>
            <span>${count >= capacity && capacity > 0 ? `${text().isFull}, ` : ""}${text().filled(count, capacity)}</span>
            ${this.#people()}
          </div>
        </header>
        ${this.#showsHistory ? html`<drawer-history .drawer=${drawer}></drawer-history>` : ""}
        ${this.#list(title)}
        ${drawer.waiting.value > 0 ? html`<p class="waiting">${text().changesWait(drawer.waiting.value)}</p>` : ""}
        <object-picker .label=${text().addTo(title)} .verb=${text().add} .pick=${this.#pick}></object-picker>
      </section>`;
  }

  /** Adds what was chosen in the box below. */
  #pick = async (/** @type {string} */ source) => {
    const { drawer } = this;
    say(text().added(await drawer.add(source), drawer.title));
  };

  #gone() {
    return html`
      <section class="column gone" aria-label=${this.drawer.title}>
        <p>${text().drawerGone}</p>
        <button @click=${() => this.desk.close(this.drawer)}>${text().close}</button>
      </section>`;
  }

  /** The others who are here. */
  #people() {
    const here = this.drawer.present.value.filter((one) => one.user !== user.value?.name);
    const names = [...new Set(here.map((one) => one.user))];
    if (names.length === 0) return "";
    return html`<span class="people" role="group" aria-label=${text().whoIsHere}>${keyed(names, (name) => name, personMark)}</span>`;
  }

  /** @param {string} title */
  #list(title) {
    const { drawer } = this;
    const items = drawer.items.value;
    if (drawer.state.value === "loading") {
      return html`<ol class="cards" data-scrolls>${[1, 2, 3].map(() => html`<li class="card blank"></li>`)}</ol>`;
    }
    const at = place.value?.drawer === drawer.loid ? place.value.index : -1;
    if (!items.some((item) => item.object === this.#current)) this.#current = items[0]?.object ?? "";
    if (items.length === 0) {
      return html`
        <div class=${at < 0 ? "cards empty" : "cards empty target"} data-scrolls>
          <p><b>${text().emptyDrawer}</b></p><p>${text().emptyDrawerHint}</p>
        </div>`;
    }
    // Those of items that have left.
    if (this.#cards.size > items.length + SPARE) this.#cards.clear();
    const others = items.filter((item) => item.object !== dragged.value);
    const before = at < 0 ? null : (others[at] ?? null);
    const isLast = at >= 0 && !before;
    return html`
      <ol class=${isLast ? "cards target-end" : "cards"} data-scrolls aria-label=${title} aria-describedby="item-help"
        @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}
        @focusin=${(/** @type {FocusEvent} */ event) => this.#focus(event)}>
        ${keyed(items, (item) => item.object, (item, index) => this.#card(item, index, items.length, item === before))}
      </ol>`;
  }

  /**
   * @param {Item} item
   * @param {number} index
   * @param {number} count
   * @param {boolean} isBefore Whether what is dragged would go before it.
   */
  #card(item, index, count, isBefore) {
    const { drawer } = this;
    const { entry, object } = item;
    const mark = drawer.marks.value.get(object);
    const hand = drawer.present.value.find(
      (one) => one.part === object && one.state === "editing" && one.user !== user.value?.name,
    );
    const isCurrent = object === this.#current;
    const isDragged = dragged.value === object;
    const others = mark && mark.user !== user.value?.name ? mark : null;
    const facets = [entry, item.shortcut, index, count, isBefore, others, hand?.user, isCurrent, isDragged, halfMinute(), text(), fullName(entry.modifier)];
    const known = this.#cards.get(object);
    if (known?.facets.every((/** @type {unknown} */ one, /** @type {number} */ at) => one === facets[at])) return known.card;
    const classes = ["card", isBefore && "target", isDragged && "lifted", (others || hand) && "marked"].filter(Boolean).join(" ");
    const card = html`
      <li class=${classes} data-object=${object} tabindex=${isCurrent ? 0 : -1}
        aria-label=${text().position(entry.title, index + 1, count)}
        @pointerdown=${(/** @type {PointerEvent} */ event) => this.#press(event, item)}>
        <span class="grip" aria-hidden="true" title=${text().grip(entry.title)}>${icon("grip")}</span>
        ${thumbnail(entry)}
        <div class="body">
          <h3>${entry.title}</h3>
          ${facts(entry)}
          ${hand ? html`<p class="hand">${besideName(hand.user)}${text().isDragged(fullName(hand.user))}</p>` : ""}
          ${!hand && others ? html`<p class="hand">${besideName(others.user)}${fullName(others.user)}: ${text().did[others.kind] ?? ""}</p>` : ""}
        </div>
        <button class="plain item-menu" tabindex="-1" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${entry.title}`}
          @click=${(/** @type {Event} */ event) => this.#itemMenu(event, object)}>${icon("more")}</button>
      </li>`;
    this.#cards.set(object, { facets, card });
    return card;
  }

  /** @param {FocusEvent} event */
  #focus(event) {
    const object = /** @type {HTMLElement} */ (event.target).closest("[data-object]")?.getAttribute("data-object");
    if (!object || object === this.#current) return;
    this.#current = object;
    this.changed();
  }

  /**
   * @param {PointerEvent} event
   * @param {Item} item
   */
  #press(event, item) {
    const { drawer, desk } = this;
    mayDrag(event, {
      object: item.object,
      title: item.entry.title,
      hold: () => drawer.hold(item.object, "position"),
      drop: (target) => {
        const to = desk.drawers().find((other) => other.loid === target.drawer);
        if (to) this.#moveTo(item, to, target.index);
      },
    });
  }

  /**
   * Moves an item, tells screen readers, and shows what fails. The item is in its new place at once.
   * @param {Item} item
   * @param {Drawer} target
   * @param {number} index
   * @returns {Promise<boolean>} Whether it was moved.
   */
  async #moveTo(item, target, index) {
    const { drawer } = this;
    if (target === drawer && drawer.items.now[index] === item) return true;
    try {
      await (target === drawer ? drawer.move(item, index) : drawer.moveTo(item, target, index));
      say(text().movedTo(item.entry.title, target.title, index + 1));
      return true;
    } catch (error) {
      notifyFault(error);
      return false;
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const card = /** @type {HTMLElement} */ (event.target).closest("[data-object]");
    const items = this.drawer.items.now;
    const index = items.findIndex((item) => item.object === card?.getAttribute("data-object"));
    const item = items[index];
    if (!item || !(event.target instanceof HTMLLIElement)) return;
    const last = items.length - 1;
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: last };
    const isMove = event.altKey && !event.ctrlKey && !event.metaKey;
    if (event.key in steps) {
      const to = Math.max(0, Math.min(last, steps[event.key]));
      if (isMove) void this.#moveTo(item, this.drawer, to);
      this.#focusOn(isMove ? item.object : items[to].object);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      this.#across(item, index, event.key === "ArrowLeft" ? -1 : 1, isMove);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.#remove(item, index);
    } else if (event.key === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      void this.#undo();
    } else if (event.key === "Enter" || event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
      this.#openItemMenu(/** @type {Element} */ (card?.querySelector(".item-menu")), item.object);
    } else {
      return;
    }
    event.preventDefault();
  }

  /**
   * Moves the focus, or an item with it, into the next drawer.
   * @param {Item} item
   * @param {number} index
   * @param {number} by
   * @param {boolean} isMove
   */
  #across(item, index, by, isMove) {
    const drawers = this.desk.drawers();
    const target = drawers[drawers.indexOf(this.drawer) + by];
    const column = target && document.querySelector(`[data-drawer="${CSS.escape(target.loid)}"]`)?.parentElement;
    if (!(column instanceof DrawerColumn)) return;
    const to = Math.min(index, target.items.now.length);
    // One that was refused is back where it was, and so is the focus.
    if (isMove) void this.#moveTo(item, target, to).then((isMoved) => isMoved || this.#focusOn(item.object));
    column.#focusOn(isMove ? item.object : (target.items.now[Math.min(index, target.items.now.length - 1)]?.object ?? ""));
  }

  /** @param {string} object */
  #focusOn(object) {
    this.#current = object;
    this.changed();
    requestAnimationFrame(() => {
      const card = this.querySelector(`[data-object="${CSS.escape(object)}"]`);
      if (card instanceof HTMLElement) card.focus();
    });
  }

  /**
   * @param {Item} item
   * @param {number} index
   */
  async #remove(item, index) {
    const { drawer } = this;
    const hadFocus = this.contains(document.activeElement);
    const neighbour = drawer.items.now[index + 1] ?? drawer.items.now[index - 1];
    try {
      const removed = drawer.remove(item);
      if (hadFocus && neighbour) this.#focusOn(neighbour.object);
      await removed;
      notify(text().removed(item.entry.title, drawer.title), {
        label: text().bringBack,
        act: () => void drawer.add(item.object, index).catch(notifyFault),
      });
    } catch (error) {
      notifyFault(error);
    }
  }

  /**
   * @param {Event} event
   * @param {string} object
   */
  #itemMenu(event, object) {
    this.#openItemMenu(/** @type {Element} */ (event.currentTarget), object);
  }

  /**
   * @param {Element} button
   * @param {string} object
   */
  #openItemMenu(button, object) {
    const { drawer, desk } = this;
    const items = drawer.items.now;
    const index = items.findIndex((item) => item.object === object);
    const item = items[index];
    if (!item) return;
    const last = items.length - 1;
    const others = desk.drawers().filter((other) => other !== drawer);
    const to = (/** @type {number} */ place) => () => {
      void this.#moveTo(item, drawer, place);
      this.#focusOn(object);
    };
    openMenu(button, [
      { label: text().toTop, act: to(0), isOff: index === 0 },
      { label: text().up, act: to(index - 1), isOff: index === 0 },
      { label: text().down, act: to(index + 1), isOff: index === last },
      { label: text().toBottom, act: to(last), isOff: index === last },
      others.length > 0 ? null : { label: text().moveTo("…"), act: () => {}, isOff: true },
      ...others.map((other) => ({ label: text().moveTo(other.title), act: () => void this.#moveTo(item, other, 0) })),
      null,
      { label: text().open, act: () => openPage(item.entry) },
      { label: text().copyAddress, act: () => void copy(object) },
      { label: text().remove, act: () => void this.#remove(item, index), isRisky: true },
    ], item.entry.title);
  }

  /** @param {Event} event */
  #menu(event) {
    const { drawer, desk } = this;
    const drawers = desk.drawers();
    const at = drawers.indexOf(drawer);
    openMenu(/** @type {Element} */ (event.currentTarget), [
      { label: text().editDrawer, act: () => void this.#edit().catch(notifyFault) },
      { label: text().history, act: () => void this.#toggleHistory().catch(notifyFault) },
      { label: text().undoLast, act: () => void this.#undo() },
      { label: text().copyAddress, act: () => void copy(drawer.loid) },
      null,
      { label: text().moveColumnLeft, act: () => desk.shift(drawer, -1), isOff: at === 0 },
      { label: text().moveColumnRight, act: () => desk.shift(drawer, 1), isOff: at === drawers.length - 1 },
      null,
      { label: text().clearDrawer, act: () => void this.#clear().catch(notifyFault), isOff: drawer.items.now.length === 0, isRisky: true },
    ], drawer.title);
  }

  async #toggleHistory() {
    await import("./history.js");
    this.#showsHistory = !this.#showsHistory;
    this.changed();
  }

  /** Undoes one's own latest change. */
  async #undo() {
    const { undo } = await import("./history.js");
    await undo(this.drawer);
  }

  async #edit() {
    const { drawer } = this;
    const before = drawer.info.now;
    const fields = html`
      <label>${text().drawerTitle}<input name="title" maxlength="200" .value=${before.title} required autofocus></label>
      <label>${text().drawerDescription}<input name="description" maxlength="1000" .value=${before.description}></label>
      <label>${text().drawerCapacity}<input name="capacity" type="number" min="1" max="10000" .value=${before.capacity} required></label>`;
    const { ask } = await import("../parts/dialog.js");
    ask(text().editDrawer, fields, text().save, async ({ title, description, capacity }) => {
      // What was not changed here may have been changed elsewhere, and stays so.
      const wanted = { title, description, capacity: Number(capacity) };
      const changed = Object.entries(wanted).filter(([name, value]) => value !== /** @type {any} */ (before)[name]);
      try {
        if (changed.length > 0) await drawer.update(Object.fromEntries(changed));
      } catch (error) {
        return explain(error);
      }
    });
  }

  /** @param {ClipboardEvent} event */
  #paste(event) {
    const source = sourceOf(event.clipboardData?.getData("text/plain") ?? "");
    if (!source || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    const { drawer } = this;
    drawer.add(source).then((title) => notify(text().added(title, drawer.title)), notifyFault);
  }

  async #clear() {
    const { drawer } = this;
    const { ask } = await import("../parts/dialog.js");
    ask(text().clearSure(drawer.title), html`<p>${text().clearSureHint}</p>`, text().clearDrawer.replace(/\s*…$/, ""), async () => {
      await drawer.clear().catch(notifyFault);
    });
  }
}

customElements.define("drawer-column", DrawerColumn);
