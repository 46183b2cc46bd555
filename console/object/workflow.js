// The statuses that an object may get next, and what their commands are called.

import { call } from "../api/calls.js";

/**
 * @typedef {object} Step A change of status that the workflow allows.
 * @property {string} status With the name of the workflow.
 * @property {string} label
 * @property {string} colour
 * @property {boolean} isAsked Whether people are asked before it is made.
 */

/** How long the configuration is kept, in milliseconds. */
const KEPT = 60_000;

/** @type {Map<string, { at: number, reply: Promise<any[]> }>} */
const caches = new Map();

/**
 * The entries of a configuration cache (docs/api/caches.md).
 * @param {"commands" | "workflows"} cache
 * @param {number} database
 * @returns {Promise<any[]>}
 */
function read(cache, database) {
  const name = `${cache}/${database}`;
  const known = caches.get(name);
  if (known && Date.now() - known.at < KEPT) return known.reply;
  const reply = call("GET", `v3/conf/cache/${cache}/{database}`, { parts: { database } }).then(({ result }) => result.items);
  caches.set(name, { at: Date.now(), reply });
  reply.catch(() => caches.delete(name));
  return reply;
}

/**
 * The statuses that may follow an object's own (docs/api/configuration.md, "Workflows").
 * @param {any} record
 * @returns {Promise<Step[]>}
 */
export async function nextSteps(record) {
  const workflow = record.additionalInfo?.workflow;
  if (!workflow) return [];
  const [commands, workflows] = await Promise.all([read("commands", record.databaseId), read("workflows", record.databaseId)]);
  const found = workflows.find(({ name }) => name === workflow);
  if (!found) return [];
  const present = record.statusInfo?.name;
  const isFree = !found.enforce || !found.statuses.some((/** @type {any} */ status) => status.name === present);
  const reached = new Set(found.transitions.filter((/** @type {any} */ one) => one.from === present).map((/** @type {any} */ one) => one.to));
  return found.statuses
    .filter((/** @type {any} */ { name }) => name !== present && (isFree || reached.has(name)))
    .map((/** @type {any} */ { name, identifier }) => {
      const command = commands.find(({ status, appliesTo }) => status === name && (appliesTo.length === 0 || appliesTo.includes(record.type)));
      return {
        status: name,
        label: command?.label ?? name.replace(/^.*\//, ""),
        colour: identifier ?? "",
        isAsked: command?.confirm ?? false,
      };
    });
}
