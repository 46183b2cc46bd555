// Values that others watch, and elements that render themselves again when a value that they have read changes. That
// happens once for all changes of a task.

import { render } from "./html.js";

/** @type {Effect | null} The effect that is running. */
let running = null;

/** @type {Set<Effect>} Effects that must run again. */
const due = new Set();

/** Runs the due effects. One that fails does not keep the others from running. */
function flush() {
  for (const effect of due) {
    due.delete(effect);
    try {
      effect.run();
    } catch (error) {
      reportError(error);
    }
  }
}

/**
 * A value that effects can watch.
 * @template T
 */
export class Signal {
  /** @type {T} */
  #value;

  /** @type {Set<Effect>} */
  #watchers = new Set();

  /** @param {T} value */
  constructor(value) {
    this.#value = value;
  }

  /** The value. The running effect runs again when it changes. */
  get value() {
    if (running) {
      this.#watchers.add(running);
      running.sources.add(this.#watchers);
    }
    return this.#value;
  }

  set value(value) {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.changed();
  }

  /** The value, without watching it. */
  get now() {
    return this.#value;
  }

  /** Tells the watchers that something within the value has changed. */
  changed() {
    if (due.size === 0 && this.#watchers.size > 0) queueMicrotask(flush);
    for (const effect of this.#watchers) due.add(effect);
  }
}

/** A function that runs again when a signal that it has read changes. */
class Effect {
  /** @type {Set<Set<Effect>>} The watchers of each signal that the last run has read. */
  sources = new Set();

  /** @param {() => void} run */
  constructor(run) {
    this.run = () => {
      this.stop();
      const outer = running;
      running = this;
      try {
        run();
      } finally {
        running = outer;
      }
    };
  }

  stop() {
    due.delete(this);
    for (const watchers of this.sources) watchers.delete(this);
    this.sources.clear();
  }
}

/**
 * Runs a function now, and again whenever a signal that it has read changes. Returns a function that ends this.
 * @param {() => void} run
 * @returns {() => void}
 */
export function effect(run) {
  const made = new Effect(run);
  made.run();
  return () => made.stop();
}

/** The base of the elements of this program. */
export class View extends HTMLElement {
  /** @type {(() => void)[]} What ends when the element leaves the page. */
  #ends = [];

  #changed = new Signal(0);

  connectedCallback() {
    // A move within the page is no new beginning.
    if (this.#ends.length > 0) return;
    this.begin();
    this.during(
      effect(() => {
        void this.#changed.value;
        render(this.template(), this);
      }),
    );
  }

  /** Browsers that know it call it in place of the other two when a node is moved. */
  connectedMoveCallback() {}

  disconnectedCallback() {
    queueMicrotask(() => {
      if (this.isConnected) return;
      for (const end of this.#ends.splice(0).reverse()) end();
    });
  }

  /**
   * Calls `end` when the element leaves the page.
   * @param {() => void} end
   */
  during(end) {
    this.#ends.push(end);
  }

  /** Called when the element enters the page. */
  begin() {}

  /** Renders the element again. */
  changed() {
    this.#changed.value += 1;
  }

  /** @returns {unknown} What the element shows. */
  template() {
    throw new Error("an element has a template");
  }
}
