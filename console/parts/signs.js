// Signs, drawn here as lines on a field of 20, and the marks of people.

import { colour, fullName, initials } from "../api/people.js";
import { html } from "../lib/html.js";

/** The line of each sign. @type {Record<string, string>} */
const LINES = {
  document: "M5 2.75h6.5l3.5 3.5v11H5zM11.5 2.75v3.5H15M7.5 10h5M7.5 13h5",
  Image: "M3 4h14v12H3zM3 13l4-4 4 4 2-2 4 4M12.5 7.5v.01",
  drawer: "M3 4.5h14v11H3zM3 10h14M8.5 7.25h3M8.5 12.75h3",
  liveblog: "M10 10v.01M6.5 6.5a5 5 0 0 0 0 7m7-7a5 5 0 0 1 0 7M4 4a8.5 8.5 0 0 0 0 12M16 4a8.5 8.5 0 0 1 0 12",
  folder: "M2.75 5h5l1.5 2h8v8.5H2.75z",
  topic: "M4 5h2M4 10h2M4 15h2M8.5 5H16M8.5 10H16M8.5 15H16",
  topicplan: "M3.5 4.5h13v12h-13zM3.5 8h13M7 2.75V6M13 2.75V6",
  lock: "M5.5 9h9v7h-9zM7 9V6.5a3 3 0 0 1 6 0V9",
  grip: "M7.5 5v.01M12.5 5v.01M7.5 10v.01M12.5 10v.01M7.5 15v.01M12.5 15v.01",
  more: "M4.5 10v.01M10 10v.01M15.5 10v.01",
  close: "m5.5 5.5 9 9m0-9-9 9",
  add: "M10 4v12M4 10h12",
  find: "M9 4a5 5 0 1 0 0 10a5 5 0 0 0 0-10m4 9 4 4",
};

/**
 * A sign. It says nothing to screen readers: a text stands beside it.
 * @param {string} name
 */
export const icon = (name) => html`
  <svg class=${`icon icon-${name}`} viewBox="0 0 20 20" aria-hidden="true"><path d=${LINES[name] ?? LINES.document} /></svg>`;

/**
 * The mark of a person.
 * @param {string} name
 */
export const personMark = (name) => html`
  <span class=${classOf(name)} title=${fullName(name)} role="img" aria-label=${fullName(name)}>${initials(name)}</span>`;

/**
 * The mark of a person whose name stands beside it.
 * @param {string} name
 */
export const besideName = (name) => html`<span class=${classOf(name)} aria-hidden="true">${initials(name)}</span>`;

/** @param {string} name */
const classOf = (name) => `person person-${colour(name)}`;
