// The description of the interface (`/openapi.json`): its operations, and examples of what they take.

import { outside } from "../api/raw.js";
import { errorOf } from "../api/calls.js";

/** @typedef {{ name: string, in: "path" | "query" | "header", required?: boolean, description?: string, schema: Schema }} Parameter */
/** @typedef {Record<string, any>} Schema */

/**
 * @typedef {object} Operation
 * @property {string} id
 * @property {string} method In capitals.
 * @property {string} path
 * @property {string} tag
 * @property {string} summary
 * @property {string} description
 * @property {string} source The document with its rules.
 * @property {Parameter[]} parameters
 * @property {{ type: string, schema: Schema, example: unknown }[]} bodies What the body may be, by media type.
 * @property {boolean} isBodyRequired
 */

/** @typedef {{ tags: { name: string, description: string }[], operations: Operation[] }} Interface */

/** The deepest level of an example. */
const DEEPEST = 4;

/** The components of the document, by their kind and name. @type {Record<string, Record<string, any>>} */
let components = {};

/** @type {Promise<Interface> | null} */
let reading = null;

/** Reads the description, once. */
export function readInterface() {
  reading ??= read().catch((error) => ((reading = null), Promise.reject(error)));
  return reading;
}

/** @returns {Promise<Interface>} */
async function read() {
  const reply = await outside("openapi.json");
  if (reply.status !== 200) throw errorOf(reply.status, reply.text);
  const json = JSON.parse(reply.text);
  components = json.components;
  const operations = Object.entries(json.paths).flatMap(([path, methods]) =>
    Object.entries(/** @type {Record<string, any>} */ (methods)).map(([method, one]) => operationOf(path, method, one)));
  return { tags: json.tags, operations };
}

/**
 * @param {string} path
 * @param {string} method
 * @param {any} one
 * @returns {Operation}
 */
function operationOf(path, method, one) {
  const body = resolved(one.requestBody ?? {});
  return {
    id: one.operationId,
    method: method.toUpperCase(),
    path,
    tag: one.tags[0],
    summary: one.summary ?? "",
    description: one.description ?? "",
    source: one["x-stet-source"] ?? "",
    parameters: (one.parameters ?? []).map(resolved),
    bodies: Object.entries(body.content ?? {}).map(([type, { schema = {}, example }]) => ({ type, schema, example })).sort(byForm),
    isBodyRequired: body.required ?? false,
  };
}

/**
 * Puts JSON before other forms of a body.
 * @param {{ type: string }} one
 * @param {{ type: string }} other
 */
const byForm = (one, other) => Number(other.type.includes("json")) - Number(one.type.includes("json"));

/**
 * What a reference leads to; anything else is itself.
 * @param {any} value
 * @returns {any}
 */
export function resolved(value) {
  for (let steps = 0; value?.$ref && steps < 10; steps++) {
    const [kind, name] = value.$ref.split("/").slice(-2);
    value = components[kind]?.[name];
  }
  return value ?? {};
}

/** Whether a schema is that of bytes. @param {Schema} schema */
export const isFile = (schema) => resolved(schema).format === "binary";

/**
 * The one form of several that an example has: not null, if there is another.
 * @param {Schema} schema
 * @returns {Schema}
 */
function chosenForm(schema) {
  const whole = resolved(schema);
  const forms = whole.anyOf ?? whole.oneOf;
  if (!forms) return whole;
  return chosenForm(forms.find((/** @type {Schema} */ one) => resolved(one).type !== "null") ?? forms[0]);
}

/** The type of a schema: the first that is not null. @param {Schema} schema @returns {string} */
export function typeOf(schema) {
  const { type } = chosenForm(schema);
  return [type ?? ""].flat().find((one) => one !== "null") ?? "";
}

/**
 * An example of a schema.
 * @param {Schema} schema
 * @param {boolean} isFull Whether it has all fields, or only the required ones.
 * @param {number} [depth]
 * @returns {unknown}
 */
export function exampleOf(schema, isFull, depth = 0) {
  const one = chosenForm(schema);
  if (one.const !== undefined) return one.const;
  if (one.examples?.length > 0) return one.examples[0];
  if (one.default !== undefined && one.default !== null) return one.default;
  if (one.enum) return one.enum[0];
  const type = typeOf(one);
  if (type === "integer" || type === "number") return one.minimum ?? 0;
  if (type === "boolean") return false;
  if (type === "array") return isFull && depth < DEEPEST && one.items ? [exampleOf(one.items, isFull, depth + 1)] : [];
  if (type === "object" || one.properties) return exampleObject(one, isFull, depth);
  return type === "string" ? "" : null;
}

/**
 * @param {Schema} schema
 * @param {boolean} isFull
 * @param {number} depth
 */
function exampleObject({ properties = {}, required = [] }, isFull, depth) {
  const names = Object.keys(properties).filter((name) => (isFull && depth < DEEPEST) || required.includes(name));
  return Object.fromEntries(names.map((name) => [name, exampleOf(properties[name], isFull, depth + 1)]));
}

/**
 * The fields of a body, for the list beside it.
 * @param {Schema} schema
 * @returns {{ name: string, type: string, description: string, isRequired: boolean }[]}
 */
export function fieldsOf(schema) {
  const { properties = {}, required = [] } = chosenForm(schema);
  return Object.entries(properties).map(([name, one]) => ({
    name,
    type: typeOf(one),
    description: /** @type {any} */ (one).description ?? resolved(one).description ?? "",
    isRequired: required.includes(name),
  }));
}
