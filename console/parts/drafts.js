// What somebody has typed and not sent yet. It stays in the browser until it is sent or thrown away.

import { user } from "../api/people.js";

/** @typedef {{ title: string, text: string, revision: number, tag?: string }} Draft With the revision, or the ETag, of what it changes. */

/** @param {string} of What the draft belongs to: a live blog, a post, the source of an object. */
const key = (of) => `stet.draft.${user.now?.name}.${of}`;

/**
 * @param {string} of
 * @returns {Draft | null}
 */
export function draftOf(of) {
  try {
    return JSON.parse(localStorage.getItem(key(of)) ?? "null");
  } catch {
    return null;
  }
}

/**
 * Keeps a draft, or forgets it. A browser without room keeps none; what is on the screen stays there.
 * @param {string} of
 * @param {Draft | null} draft
 */
export function keepDraft(of, draft) {
  try {
    if (draft && (draft.title || draft.text)) localStorage.setItem(key(of), JSON.stringify(draft));
    else localStorage.removeItem(key(of));
  } catch (error) {
    console.warn("a draft is not kept", error);
  }
}
