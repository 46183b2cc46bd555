// The signed-in user with their rights and the number of unread messages, and the names of the others.

import { Signal, effect } from "../lib/view.js";
import { CallError, call } from "./calls.js";

/** The application under which this program logs in. */
const APPLICATION = "console";

/** @typedef {{ name: string }} User */

/** The user. Null while nobody is signed in, undefined before that is known. */
export const user = new Signal(/** @type {User | null | undefined} */ (undefined));

/** Whether the session ended while somebody worked: what is on the screen stays until they sign in again. */
export const hasEnded = new Signal(false);

/** Finds out who is signed in. */
export async function resume() {
  try {
    const { result } = await call("GET", "v3/auth/connection", { login: true });
    user.value = { name: result.username };
  } catch (error) {
    if (/** @type {any} */ (error).status !== 401) throw error;
    user.value = null;
  }
}

/**
 * The connections by which somebody can sign in.
 * @returns {Promise<{ id: string, name: string }[]>}
 */
export async function connections() {
  return (await call("GET", "v3/conf/connections", { login: true, isAnonymous: true })).result.items;
}

/**
 * Signs in.
 * @param {string} connectionId
 * @param {string} username
 * @param {string} password
 */
export async function signIn(connectionId, username, password) {
  const body = { connectionId, applicationId: APPLICATION, username, password, options: { loadConfig: false } };
  const { result } = await call("POST", "v3/auth/login", { body, login: true });
  hasEnded.value = false;
  user.value = { name: result.username };
}

/** Signs out. */
export async function signOut() {
  await call("GET", "v3/auth/logout", { login: true });
  user.value = null;
}

/** @type {Signal<Map<string, string>>} */
const fullNames = new Signal(new Map());

/** Reads the names of all users, after a login. */
export async function readPeople() {
  const { result } = await call("GET", "conf/user/list");
  fullNames.value = new Map(result.map((/** @type {any} */ one) => [one.name, one.fullName]));
}

/** The login and full names of all users. */
export const people = () => [...fullNames.value];

/**
 * The full name of a user; the login name while that is not known.
 * @param {string} name
 */
export const fullName = (name) => fullNames.value.get(name) || name;

/**
 * The first letters of a user's names.
 * @param {string} name
 */
export function initials(name) {
  const words = fullName(name).split(/\s+/).filter(Boolean);
  const letters = words.length > 1 ? [words[0], words[words.length - 1]] : words;
  return letters.map((word) => [...word][0]).join("").toLocaleUpperCase();
}

/**
 * The number of the colour of a user, 0 to 7: the same everywhere.
 * @param {string} name
 */
export function colour(name) {
  let sum = 0;
  for (const letter of name) sum = (31 * sum + (letter.codePointAt(0) ?? 0)) % 997;
  return sum % 8;
}

/** The user's privileges that hold everywhere. Undefined before they are known. */
export const rights = new Signal(/** @type {Set<string> | undefined} */ (undefined));

/** All groups. They are the same for each database. @returns {Promise<import("../admin/privileges.js").Group[]>} */
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

// Unread messages. There is no event for a new message, so the server is asked now and then: by one of the pages that
// somebody sees, and all of them show the answer.

/** The time between two questions, in milliseconds. */
const PAUSE = 60_000;

/** Where the browser keeps the last answer, for all its pages. */
const KEPT = "stet.unread";

/** @typedef {{ user: string, at: number, unread: number, total: number }} Count */

/** The last answer for the user who is signed in. @type {Signal<Count | null>} */
export const inbox = new Signal(/** @type {Count | null} */ (null));

/** @param {string | null} kept */
function take(kept) {
  try {
    const count = JSON.parse(kept ?? "null");
    if (count?.user === user.now?.name && JSON.stringify(count) !== JSON.stringify(inbox.now)) inbox.value = count;
  } catch {
    // What another program has put there.
  }
}

/** Asks the server, and tells the other pages. */
export async function countMessages() {
  const name = user.now?.name;
  if (!name || hasEnded.now) return;
  const { result } = await call("GET", "v3/message/inbox", { query: { limit: 0 } });
  const kept = JSON.stringify({ user: name, at: Date.now(), unread: result.unread, total: result.total });
  take(kept);
  try {
    localStorage.setItem(KEPT, kept);
  } catch {
    // Each page asks for itself then.
  }
}

/** Asks unless another page has done so lately. */
function look() {
  take(localStorage.getItem(KEPT));
  const at = inbox.now?.user === user.now?.name ? (inbox.now?.at ?? 0) : 0;
  const age = Date.now() - at;
  // A clock that was set back counts as old.
  if (document.visibilityState === "visible" && (age < 0 || age >= PAUSE - 1000)) countMessages().catch(() => {});
}

addEventListener("storage", ({ key, newValue }) => key === KEPT && take(newValue));
document.addEventListener("visibilitychange", look);
setInterval(look, PAUSE);
effect(() => {
  if (user.value && !hasEnded.value) queueMicrotask(look);
});
