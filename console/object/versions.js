// The versions of an object: compared with each other, and brought back.

import { address, call } from "../api/calls.js";
import { fullName } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View, effect } from "../lib/view.js";
import { notify, notifyFault } from "../parts/notices.js";
import { ago, explain, moment, text } from "../text/index.js";
import { differences } from "./differences.js";
import { LARGEST, isText } from "./preview.js";

/** @typedef {{ version: number, id: string, author: string, created: number, size: number, contentType: string }} Version */

/** The number of versions that are read at once. */
const PAGE = 50;

/** Of a longer text without changes only the ends are shown, in characters. */
const CONTEXT = 240;

class ObjectVersions extends View {
  /** @type {import("./object.js").OpenObject} */
  object = /** @type {any} */ (undefined);

  /** @type {Signal<Version[]>} The newest first. */
  #versions = new Signal(/** @type {Version[]} */ ([]));
  #total = new Signal(0);
  /** @type {Signal<[older: Version, newer: Version] | null>} The versions that are compared. */
  #pair = new Signal(/** @type {[Version, Version] | null} */ (null));
  /** @type {Signal<unknown>} */
  #comparison = new Signal(/** @type {unknown} */ (""));
  #stamp = "";

  begin() {
    this.during(effect(() => {
      const record = this.object.record.value;
      const stamp = `${record?.version} ${record?.additionalInfo?.sha256}`;
      if (record && stamp !== this.#stamp) {
        this.#stamp = stamp;
        this.#read(Math.max(PAGE, this.#versions.now.length)).catch(notifyFault);
      }
    }));
  }

  /** @param {number} limit */
  async #read(limit) {
    const options = { parts: { object: this.object.loid }, query: { limit } };
    const { result } = await call("GET", "v3/object/{object}/versions", options);
    this.#versions.value = result.items;
    this.#total.value = result.total;
  }

  template() {
    const versions = this.#versions.value;
    const pair = this.#pair.value;
    if (versions.length === 0) return html`<div class="nothing"><p>${text().noVersions}</p></div>`;
    return html`
      <table class="versions">
        <caption class="unseen">${text().versions}</caption>
        <thead><tr><th scope="col">${text().version}</th><th scope="col">${text().changed}</th><th scope="col">${text().size}</th><td></td></tr></thead>
        <tbody>${keyed(versions, ({ version }) => version, (one, index) => html`
          <tr data-version=${one.version} class=${pair?.includes(one) ? "marked" : ""}>
            <td>${one.version}</td>
            <td><time title=${moment(one.created * 1000)}>${text().by(fullName(one.author), ago(one.created * 1000))}</time></td>
            <td>${text().bytes(one.size)}</td>
            <td><span class="actions">
              ${index + 1 < versions.length ? html`<button @click=${() => void this.#compare(versions[index + 1], one)} aria-label=${text().compareBefore(one.version)}>${text().compare}</button>` : ""}
              ${index > 1 ? html`<button class="plain" @click=${() => void this.#compare(one, versions[0])} aria-label=${text().compareLatest(one.version)}>${text().withLatest}</button>` : ""}
              ${index > 0 ? html`<button class="plain" @click=${() => void this.#restore(one)} aria-label=${text().restoreVersion(one.version)}>${text().bringBack}</button>` : ""}
            </span></td>
          </tr>`)}</tbody>
      </table>
      ${this.#total.value > versions.length ? html`<button class="more" @click=${() => void this.#read(versions.length + PAGE).catch(notifyFault)}>${text().showMore}</button>` : ""}
      ${pair ? html`<section class="comparison" aria-live="polite"><h2 tabindex="-1">${text().compared(pair[0].version, pair[1].version)}</h2>${this.#comparison.value}</section>` : ""}`;
  }

  /**
   * @param {Version} older
   * @param {Version} newer
   */
  async #compare(older, newer) {
    this.#comparison.value = "";
    this.#pair.value = [older, newer];
    const comparison = await this.#comparisonOf(older, newer).catch((error) => html`<p class="fault">${explain(error)}</p>`);
    // Somebody may have chosen another pair meanwhile.
    if (this.#pair.now?.[0] !== older || this.#pair.now[1] !== newer) return;
    this.#comparison.value = comparison;
    requestAnimationFrame(() => /** @type {HTMLElement | null} */ (this.querySelector(".comparison h2"))?.focus());
  }

  /**
   * @param {Version} older
   * @param {Version} newer
   */
  async #comparisonOf(older, newer) {
    const both = [older, newer];
    if (both.every(({ contentType }) => /^image\//.test(contentType))) {
      const source = (/** @type {Version} */ { version }) => address("v3/object/{object}/content/lowres", { object: this.object.loid }, { version }).href;
      return html`<div class="pictures">${both.map((one) => html`<figure><img alt=${text().versionNumber(one.version)} src=${source(one)}>
        <figcaption>${text().versionNumber(one.version)}</figcaption></figure>`)}</div>`;
    }
    if (!both.every(({ contentType, size }) => isText(contentType) && size <= LARGEST)) return html`<p>${text().cantCompare}</p>`;
    const [before, after] = await Promise.all(both.map(({ version }) => this.object.readContent(version)));
    const parts = differences(before.text, after.text);
    if (parts.every(({ kind }) => kind === "same")) return html`<p>${text().noDifference}</p>`;
    return html`<div class="marked-up">${parts.map(({ kind, text: words }, index) =>
      kind === "removed" ? html`<del>${words}</del>` : kind === "added" ? html`<ins>${words}</ins>` : html`${shortened(words, index === 0, index === parts.length - 1)}`)}</div>`;
  }

  /** @param {Version} one */
  async #restore(one) {
    const { ask } = await import("../parts/dialog.js");
    const words = html`<p>${text().restoreHint}</p>`;
    ask(text().restoreVersion(one.version), words, text().bringBack, async () => {
      try {
        await this.object.restoreVersion(one.version);
        notify(text().versionRestored(one.version));
      } catch (error) {
        return explain(error);
      }
    });
  }
}

/**
 * What stands around changes.
 * @param {string} words
 * @param {boolean} isFirst
 * @param {boolean} isLast
 */
function shortened(words, isFirst, isLast) {
  if (words.length <= 2 * CONTEXT + 40) return words;
  const head = isFirst ? "" : words.slice(0, CONTEXT);
  const tail = isLast ? "" : words.slice(-CONTEXT);
  return `${head} […] ${tail}`;
}

customElements.define("object-versions", ObjectVersions);
