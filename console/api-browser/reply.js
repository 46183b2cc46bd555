// The reply to a call: its status, its headers, and as much of its body as can be read.

import { html } from "../lib/html.js";
import { language, text } from "../text/index.js";

/** @typedef {import("../api/raw.js").BoundedReply} BoundedReply */

/** The most characters of a body that are shown. */
const MOST = 200_000;

/** @param {BoundedReply} reply */
export function replyView(reply) {
  const t = text().api;
  const { status, headers, bytes, isCut, milliseconds } = reply;
  const look = status < 300 ? "good" : status < 400 ? "warn" : "bad";
  const all = [...headers].sort(([one], [other]) => one.localeCompare(other));
  return html`
    <section class="reply" aria-label=${t.reply}>
      <header><h3>${t.reply}</h3><span class=${`badge ${look}`}>${status}</span>
        <small>${t.took(Math.round(milliseconds), bytes.length)}</small></header>
      <details><summary>${t.headers}</summary>
        <dl class="schema">${all.map(([name, value]) => html`<div><dt><code>${name}</code></dt><dd>${value}</dd></div>`)}</dl></details>
      ${isCut ? html`<p class="hint">${t.cutWhileReading}</p>` : ""}
      ${bodyView(reply)}
    </section>`;
}

/** @param {BoundedReply} reply */
function bodyView({ headers, bytes, isCut }) {
  const t = text().api;
  const type = headers.get("content-type") ?? "";
  if (bytes.length === 0) return html`<p class="hint">${t.empty}</p>`;
  if (/^image\/(png|jpeg|gif|webp)/.test(type) && !isCut) {
    const picture = document.createElement("img");
    picture.alt = type;
    picture.src = URL.createObjectURL(new Blob([bytes], { type: type.split(";")[0] }));
    picture.onload = () => URL.revokeObjectURL(picture.src);
    return picture;
  }
  const found = textOf(bytes, isCut);
  if (found === null) return html`<p class="hint">${t.binary(type)}</p>`;
  const shown = /json/.test(type) ? pretty(found) : found;
  return html`
    <pre tabindex="0">${shown.slice(0, MOST)}</pre>
    ${shown.length > MOST ? html`<p class="hint">${t.cut(MOST.toLocaleString(language()), shown.length.toLocaleString(language()))}</p>` : ""}`;
}

/**
 * The text of bytes; null if they are none.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {boolean} isCut Whether the last character may be incomplete.
 */
function textOf(bytes, isCut) {
  try {
    const found = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
    return found.includes("\0") ? null : found;
  } catch {
    return null;
  }
}

/** @param {string} json */
function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
