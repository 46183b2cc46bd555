// The statuses that workflows allow.

import { call } from "../api/calls.js";
import { openMenu } from "../parts/menu.js";
import { notifyFault } from "../parts/notices.js";
import { text } from "../text/index.js";

/** @typedef {{ name: string, statuses: { name: string, closed: boolean }[], transitions: { from: string, to: string }[], enforce: boolean }} Workflow */

/** The workflows of each database. @type {Map<number, Promise<Workflow[]>>} */
const read = new Map();

/** @param {number} database */
function workflows(database) {
  let known = read.get(database);
  if (!known) {
    known = call("GET", "v3/conf/cache/workflows/{database}", { parts: { database } }).then(({ result }) => result.items);
    known.catch(() => read.delete(database));
    read.set(database, known);
  }
  return known;
}

/** A status without the name of its workflow. @param {string} status */
export const shortStatus = (status) => status.replace(/^.*\//, "");

/**
 * The statuses that may follow one.
 * @param {number} database
 * @param {string} workflow
 * @param {string} status Empty for none.
 * @returns {Promise<string[]>}
 */
async function nextStatuses(database, workflow, status) {
  const known = (await workflows(database)).find(({ name }) => name === workflow);
  if (!known) return [];
  const all = known.statuses.map(({ name }) => name);
  const isFree = !known.enforce || !all.includes(status);
  const next = known.transitions.filter(({ from }) => from === status).map(({ to }) => to);
  return all.filter((name) => name !== status && (isFree || next.includes(name)));
}

/**
 * Opens a menu of the statuses that may follow one.
 * @param {Element} button
 * @param {{ database: number, workflow: string, status: string }} of
 * @param {(status: string) => Promise<unknown>} set
 */
export async function openStatusMenu(button, { database, workflow, status }, set) {
  try {
    const next = await nextStatuses(database, workflow, status);
    const entries = next.map((name) => ({ label: shortStatus(name), act: () => void set(name).catch(notifyFault) }));
    openMenu(button, entries.length > 0 ? entries : [{ label: text().noNextStatus, act: () => {}, isOff: true }], text().changeStatus);
  } catch (error) {
    notifyFault(error);
  }
}
