// The history of a drawer: who has done what, how it was, and taking that back.

import { call } from "../api/calls.js";
import { fullName, user } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View, effect } from "../lib/view.js";
import { entryOf } from "../parts/entry.js";
import { notify, notifyFault } from "../parts/notices.js";
import { besideName } from "../parts/signs.js";
import { ago, explain, moment, text } from "../text/index.js";

/** @typedef {import("./drawer.js").Drawer} Drawer */
/** @typedef {{ id: string, source: string, name: string | null, from: number | null, to: number | null }} ItemChange */
/** @typedef {{ items: ItemChange[], more?: number, fields?: { name: string, from: string, to: string }[] }} Changes */
/** @typedef {{ revision: number, at: number | null, user: string | null, kind: string | null, changes?: Changes }} Deed */

/** The number of changes that are read at once. */
const PAGE = 20;

/** The number of items that a change names. */
const NAMED = 3;

/** The shortest time from one reading to the next, in milliseconds. */
const GAP = 500;

class DrawerHistory extends View {
  /** @type {Drawer} */
  drawer = /** @type {any} */ (undefined);

  /** @type {Signal<Deed[] | null>} The newest first. */
  #deeds = new Signal(/** @type {Deed[] | null} */ (null));
  /** The revision below which earlier ones are read; null at the end. */
  #next = new Signal(/** @type {number | null} */ (null));
  #fault = new Signal("");
  #isReading = false;
  #again = false;
  #isEnded = false;

  begin() {
    this.during(() => (this.#isEnded = true));
    this.during(effect(() => {
      void this.drawer.items.value;
      void this.drawer.changes.value;
      void this.#read();
    }));
  }

  /** Reads the newest changes, now or as soon as the reading that is under way has ended. */
  async #read() {
    this.#again = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#again && !this.#isEnded) {
      this.#again = false;
      try {
        const { items, next } = await this.#page(undefined);
        this.#deeds.value = items;
        this.#next.value = next;
        this.#fault.value = "";
      } catch (error) {
        this.#fault.value = explain(error);
      }
      await new Promise((resolve) => setTimeout(resolve, GAP));
    }
    this.#isReading = false;
  }

  /**
   * @param {number | undefined} before
   * @returns {Promise<{ items: Deed[], next: number | null }>}
   */
  async #page(before) {
    const parts = { drawer: this.drawer.loid };
    const { result } = await call("GET", "v3/container/{drawer}/history", { parts, query: { limit: PAGE, before } });
    return result;
  }

  async #more() {
    try {
      const { items, next } = await this.#page(this.#next.now ?? undefined);
      this.#deeds.value = [...(this.#deeds.now ?? []), ...items];
      this.#next.value = next;
    } catch (error) {
      notifyFault(error);
    }
  }

  template() {
    const deeds = this.#deeds.value;
    const titles = new Map(this.drawer.items.value.map((item) => [item.object, item.entry.title]));
    return html`
      <section class="changes" aria-label=${text().history}>
        <label class="as-it-was">${text().asItWasAt}
          <input type="datetime-local" @change=${(/** @type {Event} */ event) => this.#choose(event)}></label>
        ${this.#fault.value ? html`<p class="fault">${this.#fault.value}</p>` : ""}
        ${deeds?.length === 0 ? html`<p>${text().noRecentChanges}</p>` : ""}
        <ol>${keyed(deeds ?? [], ({ revision }) => String(revision), (deed) => this.#deed(deed, titles))}</ol>
        ${this.#next.value ? html`<button class="more" @click=${() => void this.#more()}>${text().showMore}</button>` : ""}
      </section>`;
  }

  /**
   * @param {Deed} deed
   * @param {Map<string, string>} titles
   */
  #deed(deed, titles) {
    const { revision, at, user: who, kind, changes } = deed;
    if (!at || !who || !kind) return html`<li><span>${text().hiddenChange}</span></li>`;
    const items = changes?.items ?? [];
    const more = items.length - NAMED + (changes?.more ?? 0);
    const when = moment(at);
    return html`
      <li>${besideName(who)}<span><b>${fullName(who)}</b> ${text().did[kind] ?? kind}
        <time title=${when}>${ago(at)}</time>
        ${items.slice(0, NAMED).map((item) => html`<span class="step">${step(item, titles)}</span>`)}
        ${more > 0 ? html`<span class="step">${text().moreItems(more)}</span>` : ""}
        ${(changes?.fields ?? []).map(({ name, from, to }) => html`<span class="step">${text().fieldStep(text().drawerFields[name] ?? name, from, to)}</span>`)}
        <span class="acts">
          <button class="plain" aria-label=${`${text().asItWas}: ${when}`} @click=${() => void showPast(this.drawer, revision)}>${text().asItWas}</button>
          ${who === user.value?.name && isUndoable(deed) ? html`
            <button class="plain" aria-label=${`${text().undo}: ${text().did[kind] ?? kind}, ${when}`} @click=${() => void undo(this.drawer, revision)}>${text().undo}</button>` : ""}
        </span></span></li>`;
  }

  /** @param {Event} event */
  #choose(event) {
    const at = new Date(/** @type {HTMLInputElement} */ (event.target).value);
    if (!Number.isNaN(at.getTime())) void showPast(this.drawer, at.toISOString());
  }
}

/** @param {Deed} deed */
const isUndoable = ({ kind, changes }) =>
  kind?.startsWith("drawer.") && kind !== "drawer.item.move" && (changes?.items.length || changes?.fields?.length);

/**
 * What was done with an item, in words.
 * @param {ItemChange} item
 * @param {Map<string, string>} titles
 */
function step({ source, name, from, to }, titles) {
  const title = titles.get(source) ?? name ?? text().destroyedObject;
  if (from === null) return text().cameIn(title, (to ?? 0) + 1);
  return to === null ? text().wentOut(title, from + 1) : text().wentTo(title, from + 1, to + 1);
}

/**
 * Undoes a change of one's own; without a revision the latest one.
 * @param {Drawer} drawer
 * @param {number} [revision]
 */
export async function undo(drawer, revision) {
  try {
    await drawer.undo(revision);
    notify(text().undone, { label: text().redo, act: () => void undo(drawer) });
  } catch (error) {
    notifyFault(error);
  }
}

/**
 * Shows a drawer as it was, and offers to make it so again.
 * @param {Drawer} drawer
 * @param {number | string} at A revision or a time.
 */
async function showPast(drawer, at) {
  try {
    const query = { showItems: true, showSystemAttributes: false, showUsageTickets: false, at };
    const { result } = await call("GET", "v3/container/drawer/{drawer}", { parts: { drawer: drawer.loid }, query });
    const { info, items } = result;
    const there = new Set(drawer.items.now.map((item) => item.object));
    const list = html`
      <p>${text().asItWasAfter(moment(info.modified * 1000), fullName(info.lastModifier))}</p>
      <ol class="past" tabindex="0" aria-label=${text().asItWas}>${items.map((/** @type {any} */ item) => html`
        <li class=${there.has(item.source) ? "" : "away"}>${entryOf(item.object).title}
          ${there.has(item.source) ? "" : html`<small>${text().notThereNow}</small>`}</li>`)}</ol>
      ${items.length === 0 ? html`<p>${text().wasEmpty}</p>` : ""}`;
    const { ask } = await import("../parts/dialog.js");
    ask(text().drawerAsItWas(info.title || info.name), list, text().makeSoAgain, async () => {
      try {
        await drawer.revert(info.revision);
        notify(text().isSoAgain, { label: text().undo, act: () => void undo(drawer) });
      } catch (error) {
        return explain(error);
      }
    });
  } catch (error) {
    notifyFault(error);
  }
}

customElements.define("drawer-history", DrawerHistory);
