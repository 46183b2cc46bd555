// The texts in the language of the person, and dates as that language writes them.

import { CallError } from "../api/calls.js";
import { Signal } from "../lib/view.js";

/** @typedef {import("./en.js").Catalogue} Catalogue */

/** The languages, each by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch" };

/** @type {Record<string, () => Promise<Catalogue>>} */
const CATALOGUES = {
  en: async () => (await import("./en.js")).en,
  de: async () => (await import("./de.js")).de,
};

/** Where the browser keeps the chosen language. */
const KEPT = "stet.language";

const wanted = [localStorage.getItem(KEPT) ?? "", ...navigator.languages].map((tag) => tag.slice(0, 2));
const first = wanted.find((tag) => tag in CATALOGUES) ?? "en";

const chosen = new Signal({ tag: first, texts: await CATALOGUES[first]() });

document.documentElement.lang = first;

/** The texts. An effect that reads one runs again when the language changes. */
export const text = () => chosen.value.texts;

/** The tag of the language. */
export const language = () => chosen.value.tag;

/** @param {string} tag */
export async function setLanguage(tag) {
  const texts = await CATALOGUES[tag]();
  localStorage.setItem(KEPT, tag);
  document.documentElement.lang = tag;
  chosen.value = { tag, texts };
}

/**
 * A failure for people: what happened, and what to do.
 * @param {unknown} error
 */
export function explain(error) {
  if (!(error instanceof CallError)) return text().failed(String(error));
  if (error.status === 0) return text().noAnswer;
  // The same code says that an object does not fit there.
  if (error.code === "InvalidForContainer" && !error.details.status) return text().failed(error.message);
  return text().faults[error.code] ?? text().failed(error.message || String(error.status));
}

/** Changes each half minute, so that times told from now stay right. */
const clock = new Signal(Date.now());
setInterval(() => (clock.value = Date.now()), 30_000);

/** The time of the last half minute. A list that keeps what it has rendered renders it again when this changes. */
export const halfMinute = () => clock.value;

const UNITS = /** @type {const} */ ([
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
]);

/** The formats of a language, which are costly to make. @type {Map<string, ReturnType<typeof formatsIn>>} */
const formats = new Map();

/** @param {string} tag */
function formatsIn(tag) {
  const relative = new Intl.RelativeTimeFormat(tag, { numeric: "auto", style: "short" });
  const day = new Intl.DateTimeFormat(tag, { dateStyle: "medium" });
  // In the viewer's time zone, which is named.
  const full = new Intl.DateTimeFormat(tag, { dateStyle: "full", timeStyle: "long" });
  return { relative, day, full };
}

function format() {
  const tag = language();
  let known = formats.get(tag);
  if (!known) formats.set(tag, (known = formatsIn(tag)));
  return known;
}

/**
 * A time told from now within a week, and as a date before.
 * @param {number} at Epoch milliseconds.
 */
export function ago(at) {
  const seconds = (at - clock.value) / 1000;
  if (Math.abs(seconds) < 45) return text().justNow;
  if (Math.abs(seconds) > 7 * 86_400) return format().day.format(at);
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= 0.75 * each) ?? UNITS[2];
  return format().relative.format(Math.round(seconds / length), unit);
}

/**
 * A time in full.
 * @param {number} at Epoch milliseconds.
 */
export const moment = (at) => format().full.format(at);
