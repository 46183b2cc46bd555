// The number of unread messages, which every page shows. There is no event for a new message, so the server is asked
// now and then: by one of the pages that somebody sees, and all of them show the answer.

import { Signal, effect } from "../lib/view.js";
import { call } from "./calls.js";
import { hasEnded, user } from "./people.js";

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
