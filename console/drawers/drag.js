// Dragging of items by mouse, pen or finger, within a drawer and between drawers. Pointer events are used, because the
// browser's own drag and drop knows no fingers and no keys, and hides where the pointer is.

import { Signal } from "../lib/view.js";

/**
 * What a drag carries: an item of a drawer, or something found that is to be added.
 * @typedef {{ object: string, title: string, hold: () => () => void, drop: (target: Place) => void }} Load
 */

/** A place in a drawer: its loid, and the index among the items that stay. @typedef {{ drawer: string, index: number }} Place */

/** The place under the pointer while something is dragged. @type {Signal<Place | null>} */
export const place = new Signal(/** @type {Place | null} */ (null));

/** The object that is dragged. */
export const dragged = new Signal("");

/** How far a pointer moves before that is a drag and no click, in pixels. */
const THRESHOLD = 5;

/** How close to an edge a list begins to scroll, and by how much each frame, in pixels. */
const EDGE = 48;
const SPEED = 14;

/**
 * Begins a drag when the pointer moves far enough. Call it when it is pressed on a card.
 * @param {PointerEvent} event
 * @param {Load} load
 */
export function mayDrag(event, load) {
  const target = /** @type {Element} */ (event.target);
  const isGrip = target.closest(".grip") !== null;
  if (event.button !== 0 || (!isGrip && (event.pointerType === "touch" || target.closest("button, a, input")))) return;
  const card = /** @type {HTMLElement} */ (event.currentTarget);
  new Drag(card, load, event);
}

class Drag {
  /** @type {HTMLElement | null} The picture of the card at the pointer. */
  #ghost = null;
  #release = () => {};
  #frame = 0;
  #end = new AbortController();

  /**
   * @param {HTMLElement} card
   * @param {Load} load
   * @param {PointerEvent} event
   */
  constructor(card, load, event) {
    this.card = card;
    this.load = load;
    this.from = { x: event.clientX, y: event.clientY };
    this.at = this.from;
    const box = card.getBoundingClientRect();
    this.offset = { x: event.clientX - box.left, y: event.clientY - box.top };
    this.pointer = event.pointerId;
    const { signal } = this.#end;
    addEventListener("pointermove", (move) => this.#move(move), { signal });
    addEventListener("pointerup", (up) => up.pointerId === this.pointer && this.#drop(), { signal });
    addEventListener("pointercancel", () => this.#finish(), { signal });
    addEventListener("keydown", (key) => key.key === "Escape" && this.#cancel(key), { signal, capture: true });
    addEventListener("blur", () => this.#finish(), { signal });
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (event.pointerId !== this.pointer) return;
    this.at = { x: event.clientX, y: event.clientY };
    const far = Math.hypot(this.at.x - this.from.x, this.at.y - this.from.y);
    if (!this.#ghost && far < THRESHOLD) return;
    event.preventDefault();
    if (!this.#ghost) this.#begin();
    this.#follow();
  }

  #begin() {
    this.#release = this.load.hold();
    getSelection()?.removeAllRanges();
    const ghost = /** @type {HTMLElement} */ (this.card.cloneNode(true));
    ghost.classList.add("ghost");
    ghost.inert = true;
    ghost.style.width = `${this.card.offsetWidth}px`;
    document.body.append(ghost);
    this.#ghost = ghost;
    document.documentElement.classList.add("dragging");
    dragged.value = this.load.object;
    const scroll = () => {
      scrollAtEdges(this.at);
      this.#look();
      this.#frame = requestAnimationFrame(scroll);
    };
    this.#frame = requestAnimationFrame(scroll);
  }

  #follow() {
    const { x, y } = this.at;
    if (this.#ghost) this.#ghost.style.translate = `${x - this.offset.x}px ${y - this.offset.y}px`;
    this.#look();
  }

  /** Finds the place under the pointer. */
  #look() {
    const found = placeAt(this.at, this.load.object);
    const { now } = place;
    if (found?.drawer !== now?.drawer || found?.index !== now?.index) place.value = found;
  }

  #drop() {
    if (this.#ghost) this.#look();
    const target = this.#ghost ? place.now : null;
    this.#finish();
    if (target) this.load.drop(target);
  }

  /** @param {KeyboardEvent} event */
  #cancel(event) {
    if (this.#ghost) event.stopPropagation();
    this.#finish();
  }

  #finish() {
    this.#end.abort();
    cancelAnimationFrame(this.#frame);
    if (this.#ghost) {
      this.#ghost.remove();
      document.documentElement.classList.remove("dragging");
      // A click on the card that follows the release is none.
      const swallow = (/** @type {Event} */ click) => click.stopPropagation();
      addEventListener("click", swallow, { capture: true, once: true });
      setTimeout(() => removeEventListener("click", swallow, { capture: true }));
    }
    place.value = null;
    dragged.value = "";
    this.#release();
  }
}

/**
 * @param {{ x: number, y: number }} at
 * @param {string} object What is dragged, whose own card does not count.
 * @returns {Place | null}
 */
function placeAt({ x, y }, object) {
  const column = document.elementsFromPoint(x, y).find((element) => element.matches("[data-drawer]"));
  if (!(column instanceof HTMLElement)) return null;
  const cards = /** @type {HTMLElement[]} */ ([...column.querySelectorAll("[data-object]")]);
  // A list may lie within a card of another one.
  const others = cards.filter((card) => card.dataset.object !== object && card.closest("[data-drawer]") === column);
  const middle = (/** @type {HTMLElement} */ card) => {
    const box = card.getBoundingClientRect();
    return box.top + box.height / 2;
  };
  // Cards lie in order, so half of them are left out with each look.
  let low = 0;
  let high = others.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if (middle(others[half]) < y) low = half + 1;
    else high = half;
  }
  return { drawer: column.dataset.drawer ?? "", index: low };
}

/** @param {{ x: number, y: number }} at */
function scrollAtEdges({ x, y }) {
  for (const element of document.elementsFromPoint(x, y)) {
    if (!element.matches("[data-scrolls]")) continue;
    const box = element.getBoundingClientRect();
    if (element.matches("[data-scrolls=across]")) {
      if (x < box.left + EDGE) element.scrollLeft -= SPEED;
      if (x > box.right - EDGE) element.scrollLeft += SPEED;
    } else {
      if (y < box.top + EDGE) element.scrollTop -= SPEED;
      if (y > box.bottom - EDGE) element.scrollTop += SPEED;
    }
  }
}
