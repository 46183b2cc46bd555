// Signs of items and topics: status, deadline, and who does it.

import { html } from "../lib/html.js";
import { statusDot } from "../parts/card.js";
import { personMark } from "../parts/signs.js";
import { ago, language, moment, text } from "../text/index.js";
import { shortStatus } from "./statuses.js";
import { itemsOf } from "./topic.js";

/** @typedef {import("./topic.js").Item} Item */

/** The number of people whose marks are shown. */
const MOST = 4;

/** The time of a day. @param {number} seconds */
export const clockTime = (seconds) => new Intl.DateTimeFormat(language(), { timeStyle: "short" }).format(seconds * 1000);

/** A time within some days. @param {number} seconds */
const dueTime = (seconds) =>
  new Intl.DateTimeFormat(language(), { weekday: "short", day: "numeric", month: "short", hour: "numeric", minute: "numeric" }).format(seconds * 1000);

export const marks = {
  /** @param {string} status @param {string} colour */
  status: (status, colour) => html`
    <span class="status">${statusDot({ statusColour: colour })}${shortStatus(status)}</span>`,

  /** @param {number} seconds */
  due: (seconds) => html`
    <time class=${seconds * 1000 < Date.now() ? "due over" : "due"} datetime=${new Date(seconds * 1000).toISOString()} title=${moment(seconds * 1000)}>
      ${dueTime(seconds)} <span class="soft">${ago(seconds * 1000)}</span></time>`,

  /** @param {string[]} names */
  people: (names) => html`
    <span class="people" role="group" aria-label=${text().assignees}>${names.slice(0, MOST).map(personMark)}${names.length > MOST ? `+${names.length - MOST}` : ""}</span>`,

  /**
   * The next deadline of a topic and all who work on it.
   * @param {import("./topic.js").Topic} topic
   */
  summary: (topic) => {
    const items = itemsOf(topic.lines.value);
    const next = Math.min(...items.map(({ fields }) => fields.dueDate ?? Infinity));
    const names = [...new Set(items.flatMap(({ fields }) => fields.assignees))];
    return html`${next < Infinity ? marks.due(next) : ""}${names.length > 0 ? marks.people(names) : ""}`;
  },
};
