// The privileges that there are, and groups as the server shows them.

/** The privileges of docs/api/rights.md, in their order there. */
export const PRIVILEGES = /** @type {const} */ ([
  "read", "create", "write", "delete", "destroy", "moderate", "forceUnlock", "manageGroups", "configure",
]);

/** Those that count only if they hold everywhere. @type {ReadonlySet<string>} */
export const SERVER_PRIVILEGES = new Set(["manageGroups", "configure"]);

/** @typedef {{ privilege: string, folder?: string | null }} Grant Without a folder it holds everywhere. */
/** @typedef {{ groupName: string, description: string, members: string[], privileges: Grant[] }} Group */
