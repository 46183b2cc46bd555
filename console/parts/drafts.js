// What somebody has typed and not sent yet. It stays in the browser until it is sent or thrown away.

import { user } from "../api/people.js";

/** @param {string} of What the draft belongs to. */
const key = (of) => `stet.draft.${user.now?.name}.${of}`;

/**
 * @param {string} of
 * @returns {any} Null if there is none.
 */
export function draftOf(of) {
  try {
    return JSON.parse(localStorage.getItem(key(of)) ?? "null");
  } catch {
    return null;
  }
}

/**
 * Keeps a draft, or forgets it with null. A browser without room keeps none; what is on the screen stays there.
 * @param {string} of
 * @param {unknown} draft
 */
export function keepDraft(of, draft) {
  try {
    if (draft) localStorage.setItem(key(of), JSON.stringify(draft));
    else localStorage.removeItem(key(of));
  } catch (error) {
    console.warn("a draft is not kept", error);
  }
}
