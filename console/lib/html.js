// Templates whose values are always text, never markup, and that are updated in place.
//
// A hole is one of: the content of an element (`<p>${text}</p>`), a whole attribute (`class=${name}`), a boolean
// attribute (`?disabled=${flag}`), a property (`.value=${text}`), or a listener (`@click=${handler}`). Content may be
// text, a template, a node, a list of these, or a list by key. Null, undefined and booleans are empty.

/** Markup is parsed only here: the fixed parts of templates, and XML that is not shown as such. */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy("stet", {
  createHTML: (/** @type {string} */ text) => text,
  // Only the file of the events' worker, whose name is fixed.
  createScriptURL: (/** @type {string} */ address) => address,
});

/**
 * The address of a script that this program starts. Never pass an address that comes from a reply.
 * @param {URL} address
 * @returns {string}
 */
export const ownScript = (address) => /** @type {any} */ (policy?.createScriptURL(address.href) ?? address.href);

/**
 * Parses XML, to be read. Its nodes must never be put into the page.
 * @param {string} text
 * @returns {Document | null} Null unless it is well-formed.
 */
export function readXml(text) {
  // The page that a parser makes of anything else has a style, of which the browser would complain.
  if (!/^\s*</.test(text)) return null;
  const parsed = new DOMParser().parseFromString(policy?.createHTML(text) ?? text, "application/xml");
  return parsed.querySelector("parsererror") ? null : parsed;
}

/** What a template's tag returns. */
export class Template {
  /**
   * @param {TemplateStringsArray} strings
   * @param {unknown[]} values
   */
  constructor(strings, values) {
    this.strings = strings;
    this.values = values;
  }
}

/** A list whose entries keep their nodes by key, wherever they move. */
export class KeyedList {
  /**
   * @param {unknown[]} keys
   * @param {Template[]} templates
   */
  constructor(keys, templates) {
    this.keys = keys;
    this.templates = templates;
  }
}

/**
 * A template.
 * @param {TemplateStringsArray} strings
 * @param {unknown[]} values
 */
export const html = (strings, ...values) => new Template(strings, values);

/**
 * A list of templates by key. Keys must differ.
 * @template T
 * @param {Iterable<T>} items
 * @param {(item: T) => unknown} key
 * @param {(item: T, index: number) => Template} template
 */
export function keyed(items, key, template) {
  const list = [...items];
  return new KeyedList(list.map(key), list.map(template));
}

/** @typedef {{ path: number[], kind: "content" } | { path: number[], kind: "attribute", name: string }} Hole */
/** @typedef {{ content: DocumentFragment, holes: Hole[] }} Prepared */

/** @type {WeakMap<TemplateStringsArray, Prepared>} */
const prepared = new WeakMap();

const MARK = "hole-";

/**
 * Parses the fixed parts of a template, once.
 * @param {TemplateStringsArray} strings
 * @returns {Prepared}
 */
function prepare(strings) {
  const known = prepared.get(strings);
  if (known) return known;
  let text = "";
  strings.forEach((part, index) => {
    text += part;
    if (index === strings.length - 1) return;
    const inTag = text.lastIndexOf("<") > text.lastIndexOf(">");
    text += inTag ? `"${MARK}${index}"` : `<!--${MARK}${index}-->`;
  });
  const template = document.createElement("template");
  template.innerHTML = /** @type {string} */ (/** @type {unknown} */ (policy?.createHTML(text) ?? text));
  /** @type {Hole[]} */
  const holes = [];
  walk(template.content, [], holes);
  const made = { content: template.content, holes };
  prepared.set(strings, made);
  return made;
}

/**
 * @param {Node} node
 * @param {number[]} path
 * @param {Hole[]} holes
 */
function walk(node, path, holes) {
  if (node instanceof Comment && node.data.startsWith(MARK)) {
    holes[Number(node.data.slice(MARK.length))] = { path, kind: "content" };
  }
  if (node instanceof Element) {
    for (const { name, value } of [...node.attributes]) {
      if (!value.startsWith(MARK)) continue;
      holes[Number(value.slice(MARK.length))] = { path, kind: "attribute", name };
      node.removeAttribute(name);
    }
  }
  node.childNodes.forEach((child, index) => walk(child, [...path, index], holes));
}

/** The nodes of a template, with the holes that are filled. */
class Instance {
  /** @param {Template} template */
  constructor(template) {
    const { content, holes } = prepare(template.strings);
    const fragment = document.importNode(content, true);
    const find = (/** @type {number[]} */ path) =>
      path.reduce((/** @type {Node} */ node, index) => node.childNodes[index], fragment);
    const nodes = holes.map((hole) => find(hole.path));
    this.template = template;
    this.parts = holes.map((hole, index) =>
      hole.kind === "content"
        ? new Content(/** @type {Comment} */ (nodes[index]))
        : new Attribute(/** @type {Element} */ (nodes[index]), hole.name),
    );
    /** The nodes between which its own ones lie. They stay where its content changes. */
    this.first = document.createComment("");
    this.last = document.createComment("");
    fragment.prepend(this.first);
    fragment.append(this.last);
    this.fragment = fragment;
    this.#set(template);
  }

  /**
   * Fills the holes again. The same template as before has nothing new.
   * @param {Template} template One with the same fixed parts.
   */
  fill(template) {
    if (template === this.template) return;
    this.template = template;
    this.#set(template);
  }

  /** @param {Template} template */
  #set({ values }) {
    this.parts.forEach((part, index) => part.set(values[index]));
  }

  /** All of its nodes. */
  nodes() {
    const nodes = [];
    for (let node = /** @type {Node | null} */ (this.first); node; node = node.nextSibling) {
      nodes.push(node);
      if (node === this.last) break;
    }
    return nodes;
  }

  /**
   * Puts its nodes before another one.
   * @param {Node} before
   */
  insert(before) {
    const parent = /** @type {Node & ParentNode} */ (before.parentNode);
    if (this.first.parentNode !== parent) {
      parent.insertBefore(this.fragment, before);
      return;
    }
    for (const node of this.nodes()) move(parent, node, before);
  }

  remove() {
    this.fragment.append(...this.nodes());
  }
}

/**
 * Moves a node within its parent. Where the browser can, focus and scrolling stay.
 * @param {Node & ParentNode} parent
 * @param {Node} node
 * @param {Node} before
 */
function move(parent, node, before) {
  if ("moveBefore" in parent) /** @type {any} */ (parent).moveBefore(node, before);
  else parent.insertBefore(node, before);
}

/** An attribute, property or listener of an element. */
class Attribute {
  /** @type {unknown} */
  #value;

  /**
   * @param {Element} element
   * @param {string} name
   */
  constructor(element, name) {
    this.element = element;
    this.name = name;
    if (name.startsWith("@")) element.addEventListener(name.slice(1), (event) => this.#handle(event));
  }

  /** @param {Event} event */
  #handle(event) {
    if (typeof this.#value === "function") this.#value.call(this.element, event);
  }

  /** @param {unknown} value */
  set(value) {
    const { element, name } = this;
    // A person may have changed a property since.
    const there = name === ".value" ? /** @type {any} */ (element).value : this.#value;
    if (Object.is(value, there)) return;
    this.#value = value;
    if (name.startsWith("@")) return;
    if (name.startsWith(".")) /** @type {any} */ (element)[name.slice(1)] = value;
    else if (name.startsWith("?")) element.toggleAttribute(name.slice(1), Boolean(value));
    else if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, String(value));
  }
}


/** The content of an element at one place. */
class Content {
  /** @type {Instance[]} */
  #instances = [];

  /** @type {unknown[]} Their keys, or their places. */
  #keys = [];

  /** @type {Node | null} Plain text, or a node that is not ours. */
  #node = null;

  /** @param {Comment} end What it stands before. */
  constructor(end) {
    this.end = end;
  }

  /** @param {unknown} value */
  set(value) {
    if (value instanceof KeyedList) this.#show(value.keys, value.templates);
    else if (value instanceof Template) this.#show([0], [value]);
    else if (Array.isArray(value)) this.#show([...value.keys()], value.map(asTemplate));
    else this.#put(value);
  }

  /** @param {unknown} value */
  #put(value) {
    if (this.#instances.length > 0) this.#show([], []);
    if (value instanceof Node) {
      if (value === this.#node) return;
      this.#node?.parentNode?.removeChild(this.#node);
      this.#node = value;
      this.end.before(value);
      return;
    }
    const text = value === null || value === undefined || typeof value === "boolean" ? "" : String(value);
    if (!(this.#node instanceof Text)) {
      this.#node?.parentNode?.removeChild(this.#node);
      this.#node = null;
      if (text === "") return;
      this.#node = document.createTextNode(text);
      this.end.before(this.#node);
    } else if (this.#node.data !== text) {
      this.#node.data = text;
    }
  }

  /**
   * @param {unknown[]} keys
   * @param {Template[]} templates
   */
  #show(keys, templates) {
    this.#node?.parentNode?.removeChild(this.#node);
    this.#node = null;
    const places = new Map(this.#keys.map((key, place) => [key, place]));
    const old = this.#instances;
    const from = keys.map((key, index) => {
      const place = places.get(key);
      return place !== undefined && old[place].template.strings === templates[index].strings ? place : -1;
    });
    const kept = new Set(from);
    old.forEach((instance, place) => kept.has(place) || instance.remove());
    const still = longestRise(from);
    let before = /** @type {Node} */ (this.end);
    const instances = [];
    for (let index = keys.length - 1; index >= 0; index--) {
      const instance = from[index] < 0 ? new Instance(templates[index]) : old[from[index]];
      if (from[index] >= 0) instance.fill(templates[index]);
      if (!still.has(index)) instance.insert(before);
      before = instance.first;
      instances[index] = instance;
    }
    this.#instances = instances;
    this.#keys = keys;
  }
}

/** @param {unknown} value */
const asTemplate = (value) => (value instanceof Template ? value : html`${value}`);

/**
 * The indices of the longest rising part of a list, without entries below 0: what stays when the others move.
 * @param {number[]} list
 * @returns {Set<number>}
 */
export function longestRise(list) {
  /** @type {number[]} For each length, the index at which the lowest rise of that length ends. */
  const ends = [];
  /** @type {number[]} */
  const before = [];
  list.forEach((value, index) => {
    if (value < 0) return;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[ends[middle]] < value) low = middle + 1;
      else high = middle;
    }
    before[index] = low > 0 ? ends[low - 1] : -1;
    ends[low] = index;
  });
  const rise = new Set();
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index]) rise.add(index);
  return rise;
}

/** @type {WeakMap<Element, Content>} */
const roots = new WeakMap();

/**
 * Shows a template as the content of an element, in place of what was shown there before.
 * @param {unknown} value
 * @param {Element} element
 */
export function render(value, element) {
  let root = roots.get(element);
  if (!root) {
    const end = document.createComment("");
    element.replaceChildren(end);
    root = new Content(end);
    roots.set(element, root);
  }
  root.set(value);
}
