// A list of lines that is walked and ordered by keys, by pointer and by menu. Lists may lie within a line of another.

import { View } from "../lib/view.js";
import { dragged, mayDrag, place } from "../drawers/drag.js";
import { notifyFault, say } from "../parts/notices.js";
import { explain, text } from "../text/index.js";

/** @typedef {{ id: string }} Line */

/** How long a line is awaited that should get the focus, in milliseconds. */
const PATIENCE = 3000;

/** @template {Line} T */
export class LineList extends View {
  /** The line that has the focus, or had it last. */
  current = "";
  /** The line that the Tab key reaches. */
  reached = "";

  /**
   * The lines of a list.
   * @param {string} _list As `data-drawer` names it.
   * @returns {T[]}
   */
  linesOf(_list) {
    return [];
  }

  /**
   * What a line is called.
   * @param {T} _line
   * @returns {string}
   */
  titleOf(_line) {
    return "";
  }

  /**
   * Moves a line.
   * @param {T} _line
   * @param {string} _from The list that it is in.
   * @param {string} _to The list that it gets into.
   * @param {number} _index Its place among the others there.
   * @returns {Promise<unknown> | undefined} Undefined if it can't be moved there.
   */
  move(_line, _from, _to, _index) {
    return undefined;
  }

  /**
   * What a key on a line does, beside moving it.
   * @param {T} _line
   * @param {string} _list
   * @param {KeyboardEvent} _event
   * @param {HTMLElement} _element
   * @returns {boolean} Whether it does something.
   */
  act(_line, _list, _event, _element) {
    return false;
  }

  /**
   * Tells others that a line is held. Returns a function that ends this.
   * @param {T} _line
   * @returns {() => void}
   */
  hold(_line) {
    return () => {};
  }

  /**
   * The classes of a line's element: whether it is held here, and where what is held would go.
   * @param {string} list
   * @param {string} id
   */
  classesOf(list, id) {
    const target = place.value;
    if (dragged.value === id) return " lifted";
    if (target?.drawer !== list || !this.#isMine(dragged.value)) return "";
    const others = this.linesOf(list).filter((line) => line.id !== dragged.value);
    if (others[target.index]?.id === id) return " target";
    return target.index >= others.length && others.at(-1)?.id === id ? " target-after" : "";
  }

  /** @param {string} id */
  #isMine(id) {
    return id !== "" && this.querySelector(`[data-object="${CSS.escape(id)}"]`) !== null;
  }

  /**
   * @param {T} line
   * @param {string} from
   * @param {string} to
   * @param {number} index
   */
  async moveLine(line, from, to, index) {
    const at = this.linesOf(from).findIndex(({ id }) => id === line.id);
    if (from === to && at === index) return;
    const hadFocus = this.contains(document.activeElement);
    try {
      const moved = this.move(line, from, to, index);
      if (!moved) return;
      if (hadFocus) this.focusOn(line.id);
      await moved;
      say(text().shifted(this.titleOf(line)));
    } catch (error) {
      say(explain(error));
      notifyFault(error);
    }
    // A line that got into another list has a new element.
    if (hadFocus && from !== to) this.focusOn(line.id, to);
  }

  /**
   * The entries of a menu that move a line.
   * @param {T} line
   * @param {string} list
   * @returns {import("../parts/menu.js").Entry[]}
   */
  moves(line, list) {
    const lines = this.linesOf(list);
    const at = lines.findIndex(({ id }) => id === line.id);
    const last = lines.length - 1;
    const to = (/** @type {number} */ index) => () => void this.moveLine(line, list, list, index);
    return [
      { label: text().toTop, act: to(0), isOff: at === 0 },
      { label: text().up, act: to(at - 1), isOff: at === 0 },
      { label: text().down, act: to(at + 1), isOff: at === last },
      { label: text().toBottom, act: to(last), isOff: at === last },
    ];
  }

  /**
   * The line that the Tab key reaches: the current one, if it is there.
   * @param {string[]} shown All lines.
   */
  reach(shown) {
    this.reached = shown.includes(this.current) ? this.current : (shown[0] ?? "");
  }

  /**
   * Puts the focus on a line, which may only be on its way here.
   * @param {string} id
   * @param {string} [list] The list in which it should be.
   */
  focusOn(id, list) {
    this.current = id;
    this.changed();
    const until = performance.now() + PATIENCE;
    const look = () => {
      if (this.current !== id || !this.isConnected) return;
      const element = this.querySelector(`[data-object="${CSS.escape(id)}"]`);
      const isThere = element instanceof HTMLElement && (!list || element.parentElement?.dataset.drawer === list);
      if (isThere) element.focus();
      // Below a dialog that is still open it does not get the focus.
      if ((!isThere || document.activeElement !== element) && performance.now() < until) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }

  /**
   * Moves the focus to the neighbour of a line that leaves.
   * @param {string} id
   */
  leave(id) {
    const all = this.#elements();
    const at = all.findIndex((element) => element.dataset.object === id);
    const inside = all[at]?.contains(document.activeElement) || document.activeElement === document.body;
    const next = all.find((element, index) => index > at && !all[at].contains(element)) ?? all[at - 1];
    if (inside && next?.dataset.object) this.focusOn(next.dataset.object);
  }

  #elements() {
    return /** @type {HTMLElement[]} */ ([...this.querySelectorAll("[data-object]")]);
  }

  /**
   * The line of an element, and the list that it is in.
   * @param {Element | null} element
   */
  #lineOf(element) {
    const list = element?.parentElement?.closest("[data-drawer]")?.getAttribute("data-drawer") ?? "";
    const line = this.linesOf(list).find(({ id }) => id === element?.getAttribute("data-object"));
    return line ? { line, list } : null;
  }

  /** @param {FocusEvent} event */
  focused(event) {
    const id = /** @type {HTMLElement} */ (event.target).closest("[data-object]")?.getAttribute("data-object");
    if (!id || id === this.current) return;
    this.current = id;
    this.changed();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const element = /** @type {HTMLElement} */ (event.target);
    const found = element.matches("[data-object]") ? this.#lineOf(element) : null;
    if (!found) return;
    const { line, list } = found;
    const lines = this.linesOf(list);
    const at = lines.findIndex(({ id }) => id === line.id);
    const all = this.#elements();
    const here = all.indexOf(element);
    const last = event.altKey ? lines.length - 1 : all.length - 1;
    const from = event.altKey ? at : here;
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: last };
    const isPlain = !event.ctrlKey && !event.metaKey;
    if (event.key in steps && isPlain) {
      const to = Math.max(0, Math.min(last, steps[event.key]));
      if (event.altKey) this.moveLine(line, list, list, to);
      else this.focusOn(all[to].dataset.object ?? "");
    } else if (!this.act(line, list, event, element)) {
      return;
    }
    event.preventDefault();
  }

  /** @param {PointerEvent} event */
  press(event) {
    const element = /** @type {HTMLElement} */ (event.currentTarget);
    const own = /** @type {Element} */ (event.target).closest("[data-object]") === element;
    const found = own ? this.#lineOf(element) : null;
    if (!found) return;
    const { line, list } = found;
    mayDrag(event, {
      object: line.id,
      title: this.titleOf(line),
      hold: () => this.hold(line),
      drop: (target) => void this.moveLine(line, list, target.drawer, target.index),
    });
  }
}
