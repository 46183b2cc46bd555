// The attributes of an object as the fields of a form, by the metadata definition (docs/api/metadata.md).

import { CallError, call } from "../api/calls.js";

/** @typedef {{ docType: string, elements: Record<string, any> }} Definition */
/** @typedef {string | { [name: string]: any }} Value Of one element: its text, or its children and attributes. */

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} title
 * @property {"text" | "choice" | "tree" | "day" | "group"} kind
 * @property {boolean} isRepeated
 * @property {boolean} isFixed Whether the form only shows it.
 * @property {string[]} choices
 * @property {string} template How a time is written.
 * @property {boolean} isLeaf Whether the value of a tree is the last name of a path.
 * @property {string} first What a further element begins with.
 */

/**
 * Reads the definition for an object.
 * @param {string} object
 * @returns {Promise<Definition>} Without elements if there is no definition.
 */
export async function readDefinition(object) {
  try {
    return (await call("GET", "conf/metadata/dtd", { query: { id: object } })).result;
  } catch (error) {
    if (error instanceof CallError && error.status === 404) return { docType: "metadata", elements: {} };
    throw error;
  }
}

/** @type {Map<string, Promise<string[]>>} */
const trees = new Map();

/**
 * The values that an element of a tree may have, as paths. Empty where the server offers none.
 * @param {string} node
 */
export function readTree(node) {
  const known = trees.get(node);
  if (known) return known;
  const reply = call("GET", "conf/metadata/dtd/treedb", { query: { node } }).then(({ result }) => result, () => []);
  trees.set(node, reply);
  return reply;
}

/**
 * The root of an object's attributes, and what is in it.
 * @param {any} record
 * @param {Definition} definition
 * @returns {{ root: string, values: Record<string, any> }}
 */
export function attributesOf(record, definition) {
  const [root, values] = Object.entries(record?.attributes ?? {}).find(([name]) => !name.startsWith("@")) ?? [definition.docType, {}];
  return { root, values: typeof values === "object" && values !== null ? values : {} };
}

/**
 * The children of an element as fields: those of the definition in its order, then what else is there.
 * @param {Definition} definition
 * @param {string} element
 * @param {Record<string, any>} values
 * @returns {Field[]}
 */
export function fieldsOf(definition, element, values) {
  const cardinality = definition.elements[element]?.cardinality ?? {};
  const isChild = (/** @type {string} */ name) => !name.startsWith("@") && name !== "#text";
  const names = [...Object.keys(cardinality), ...Object.keys(values).filter((name) => isChild(name) && !(name in cardinality))];
  return names
    .filter((name) => definition.elements[name]?.visibility !== "Invisible")
    .map((name) => fieldOf(name, definition.elements[name], cardinality[name], values[name]));
}

/**
 * @param {string} name
 * @param {any} element Its definition, if there is one.
 * @param {string | undefined} cardinality
 * @param {unknown} value
 * @returns {Field}
 */
function fieldOf(name, element, cardinality, value) {
  const isGroup = list(value).some((one) => typeof one === "object") || Object.keys(element?.cardinality ?? {}).length > 0;
  const isDay = element?.type === "date-time" && element.template === "yyyy-MM-dd";
  const isTree = element?.type?.startsWith("tree-db");
  const kind = isGroup ? "group" : element?.type === "list" ? "choice" : isDay ? "day" : isTree ? "tree" : "text";
  return {
    name,
    title: element?.title || name,
    kind,
    isRepeated: cardinality === "*" || cardinality === "+" || Array.isArray(value),
    isFixed: element?.visibility === "ReadOnly",
    choices: element?.listValues ?? [],
    template: element?.template ?? "",
    isLeaf: element?.result === "LeafOnly",
    first: element?.defaultContent ?? "",
  };
}

/**
 * The values of an element that may be there once, several times or not at all.
 * @param {any} value
 * @returns {Value[]}
 */
export const list = (value) => (value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]);

/**
 * The form in which a list of values is stored.
 * @param {Value[]} values
 * @returns {any} Undefined if there is none.
 */
export const stored = (values) => (values.length > 1 ? values : values[0]);

/**
 * Whether text stands between the children of an element. A form could not keep its order.
 * @param {Value} value
 */
export const isMixed = (value) => typeof value === "object" && "#text" in value && Object.keys(value).some((name) => !/^[@#]/.test(name));

/** @param {Value[]} values */
const withoutEmpty = (values) => values.filter((value) => typeof value === "object" || value.trim() !== "");

/**
 * The operator that gives an element new values (docs/api/objects.md, "Changing fields").
 * @param {string} root
 * @param {string} name
 * @param {Value[]} before
 * @param {Value[]} after
 * @returns {object | null} Null if nothing changes.
 */
export function operatorOf(root, name, before, after) {
  const xpath = `/attributes/${root}/${name}`;
  const kept = withoutEmpty(after);
  if (JSON.stringify(kept) === JSON.stringify(withoutEmpty(before))) return null;
  if (kept.length > 1) return { set: { xpath, content: kept } };
  if (kept.length === 0 && before.length > 1) return { unset: { xpath } };
  // A single element stays, even when its text goes.
  if (before.length <= 1) return { set: { xpath, content: kept[0] ?? "" } };
  return { set: { xpath, content: kept } };
}
