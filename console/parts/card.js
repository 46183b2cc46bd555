// An object as a card in a list.

import { address } from "../api/calls.js";
import { fullName } from "../api/people.js";
import { html } from "../lib/html.js";
import { ago, moment, text } from "../text/index.js";
import { icon } from "./signs.js";

/** @typedef {import("./entry.js").Entry} Entry */

/**
 * The picture of an object, or the sign of its type.
 * @param {Entry} entry
 */
export function thumbnail(entry) {
  if (!entry.isPicture) return html`<span class="thumb sign">${icon(entry.family || entry.type)}</span>`;
  const source = address("v3/object/{id}/content/lowres", { id: entry.id }, { rev: entry.stamp.split(" ")[0] });
  return html`<img class="thumb" loading="lazy" decoding="async" draggable="false" alt="" src=${source.href} @error=${askAgain}>`;
}

/** How long a picture waits that a busy server has refused, in milliseconds. */
const WAIT = 5000;

/**
 * Asks for a picture once more: a server that has too much to do refuses to scale it.
 * @param {Event} event
 */
function askAgain(event) {
  const picture = /** @type {HTMLImageElement} */ (event.target);
  const again = new URL(picture.src);
  if (again.searchParams.has("again")) return;
  again.searchParams.set("again", "1");
  setTimeout(() => (picture.src = again.href), WAIT);
}

/**
 * The colour of an object's status.
 * @param {Pick<Entry, "statusColour">} entry
 */
export const statusDot = ({ statusColour }) => html`
  <svg class="dot" viewBox="0 0 8 8" aria-hidden="true"><circle cx="4" cy="4" r="4" fill=${safeColour(statusColour)} /></svg>`;

/**
 * The status, the time and the person of an object's last change.
 * @param {Entry} entry
 */
export const facts = (entry) => html`
  <p class="facts">
    ${entry.status && html`<span class="status">${statusDot(entry)}${entry.status}</span>`}
    ${entry.locker && html`<span class="lock">${icon("lock")}${text().lockedBy(fullName(entry.locker))}</span>`}
    ${lastChange(entry)}
  </p>`;

/**
 * The time and the person of an object's last change.
 * @param {Entry} entry
 */
export const lastChange = (entry) => html`
  <time datetime=${new Date(entry.modified).toISOString()} title=${moment(entry.modified)}>${text().by(fullName(entry.modifier), ago(entry.modified))}</time>`;

/**
 * A text with the parts that were found.
 * @param {{ text: string, matches: [number, number][] }} extract Begin and end of each match, in characters.
 */
export function marked({ text: words, matches }) {
  const letters = [...words];
  const parts = [];
  let at = 0;
  for (const [begin, end] of matches) {
    parts.push(letters.slice(at, begin).join(""), html`<mark>${letters.slice(begin, end).join("")}</mark>`);
    at = end;
  }
  return [...parts, letters.slice(at).join("")];
}

/**
 * A colour of the configuration, which any text may be.
 * @param {string} colour
 */
const safeColour = (colour) => (/^(#[0-9a-f]{3,8}|rgba?\([\d., %]+\)|[a-z]+)$/i.test(colour) ? colour : "currentColor");
