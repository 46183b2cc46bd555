// What the signed-in user may do everywhere.

import { Signal } from "../lib/view.js";
import { CallError, call } from "./calls.js";

/** The privileges of docs/api/rights.md, in their order there. */
export const PRIVILEGES = /** @type {const} */ ([
  "read", "create", "write", "delete", "destroy", "moderate", "forceUnlock", "manageGroups", "configure",
]);

/** Those that count only if they hold everywhere. @type {ReadonlySet<string>} */
export const SERVER_PRIVILEGES = new Set(["manageGroups", "configure"]);

/** @typedef {{ privilege: string, folder?: string | null }} Grant Without a folder it holds everywhere. */
/** @typedef {{ groupName: string, description: string, members: string[], privileges: Grant[] }} Group */

/** The user's privileges that hold everywhere. Undefined before they are known. */
export const rights = new Signal(/** @type {Set<string> | undefined} */ (undefined));

/** All groups. They are the same for each database. @returns {Promise<Group[]>} */
export async function readGroups() {
  return (await call("GET", "v3/conf/cache/groups")).result.items[0].items;
}

/**
 * Finds out what a user may do: a session does not know it otherwise.
 * @param {string} name
 */
export async function readRights(name) {
  const groups = await readGroups().catch((error) => {
    // Whoever may read nothing has no rights, either.
    if (error instanceof CallError && error.status === 403) return [];
    throw error;
  });
  const mine = groups.filter(({ members }) => members.includes(name));
  const everywhere = mine.flatMap(({ privileges }) => privileges.filter(({ folder }) => !folder));
  rights.value = new Set(everywhere.map(({ privilege }) => privilege));
}
