// The files of the configuration: which are there, what their last reading said, and their source.

import { call } from "../api/calls.js";
import { fullName } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { notify } from "../parts/notices.js";
import { text } from "../text/index.js";
import { ago, halfMinute, moment } from "../text/index.js";
import { FormState, chosenOfAddress, explainFault, head, nothing } from "./section.js";
import "./source.js";

/** @typedef {{ id: string, path: string, type: string, size: number, modified: number, modifier: string }} ConfigFile Times are in epoch milliseconds. */
/** @typedef {{ databaseId: number, cache: string, message: string, path?: string | null, line?: number | null, column?: number | null }} Fault */

/** The folder of the configuration. */
const ROOT = "/SysConfig";

/** The largest number of files that are listed: the server reads no more for one cache. */
const MOST = 1000;

/** The files that are shown at once, and by how many more each time. */
const PAGE = 150;

/** The cache that is read from the files of a folder. @type {Record<string, string>} */
const CACHES = { Commands: "commands", Jobs: "jobs", ObjectTypes: "objecttypes", Workflows: "workflows" };

const DISPLAY = { showPath: true, showSystemAttributes: false, showAttributes: false, showUsageTickets: false, showVirtualAttributes: true };

class AdminConfiguration extends View {
  /** @type {Signal<ConfigFile[] | null>} */
  #files = new Signal(/** @type {ConfigFile[] | null} */ (null));
  /** When each cache was read. @type {Signal<Map<string, number>>} */
  #read = new Signal(new Map());
  /** What the last refresh found; null before one. @type {Signal<Fault[] | null>} */
  #faults = new Signal(/** @type {Fault[] | null} */ (null));
  #words = new Signal("");
  #most = new Signal(PAGE);
  #chosen = new Signal(chosenOfAddress());
  #state = new FormState();

  begin() {
    const follow = () => (this.#chosen.value = chosenOfAddress());
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    this.#readFiles();
  }

  async #readFiles() {
    try {
      const query = { ...DISPLAY, recursive: true, excludeFolders: true, howMany: MOST };
      const [files, times] = await Promise.all([
        call("GET", "v3/folder/{folder}/filter", { parts: { folder: ROOT }, query }),
        call("GET", "v3/conf/cache/timestamp"),
      ]);
      this.#files.value = files.result.items.map(fileOf).sort((/** @type {ConfigFile} */ one, /** @type {ConfigFile} */ other) => one.path.localeCompare(other.path));
      this.#keepTimes(times.result.items);
    } catch (error) {
      this.#state.fault.value = explainFault(error);
    }
  }

  /** @param {{ cache: string, timestamp: number }[]} items One for each database: the earliest counts. */
  #keepTimes(items) {
    const times = new Map(this.#read.now);
    for (const { cache } of items) {
      times.set(cache, Math.min(...items.filter((one) => one.cache === cache).map(({ timestamp }) => timestamp)));
    }
    this.#read.value = times;
  }

  template() {
    const t = text().admin.configuration;
    const file = this.#files.value?.find(({ path }) => path === ROOT + "/" + this.#chosen.value);
    return html`
      ${head(text().admin.sections.configuration, t.lead, html`
        <input type="search" class="filter" aria-label=${t.find} placeholder=${t.find}
          @input=${(/** @type {Event} */ event) => ((this.#words.value = /** @type {HTMLInputElement} */ (event.target).value), (this.#most.value = PAGE))}>
        <button class="primary" ?disabled=${this.#state.isBusy.value} @click=${() => this.#refresh()}>${t.refresh}</button>`)}
      <p class="fault" role="alert">${this.#state.fault.value}</p>
      <div role="status">${this.#faults.value ? this.#outcome(this.#faults.value) : ""}</div>
      <div class=${file ? "split open broad" : "split"}>
        <div class="rows">${this.#rows(file)}</div>
        ${file ? keyed([file.id], (id) => id, () => html`
          <source-editor class="panel" .file=${file} .faults=${this.#faultsOf(file)} .saved=${() => this.#readFiles()}
            .refresh=${() => this.#refresh()} .closed=${() => this.#close()}></source-editor>`) : ""}
      </div>`;
  }

  /** @param {ConfigFile} file */
  #faultsOf(file) {
    return (this.#faults.value ?? []).filter(({ path }) => path === file.path);
  }

  /** @param {Fault[]} faults */
  #outcome(faults) {
    const t = text().admin.configuration;
    if (faults.length === 0) return html`<p class="outcome good">${t.inForce}</p>`;
    return html`
      <div class="outcome bad"><p><b>${t.faults(faults.length)}</b> ${t.faultsHint}</p>
        <ul>${faults.map(({ path, line, message, cache }) => html`
          <li>${path?.startsWith(ROOT + "/") ? html`<a href=${addressOf(path)}>${path.slice(ROOT.length + 1)}</a>` : path || cache}${line ? html` · ${t.line(line)}` : ""}: ${message}</li>`)}</ul></div>`;
  }

  /** @param {ConfigFile | undefined} chosen */
  #rows(chosen) {
    const t = text().admin.configuration;
    void halfMinute();
    const words = this.#words.value.trim().toLowerCase();
    const all = this.#files.value;
    if (!all) return "";
    const list = all.filter(({ path }) => path.toLowerCase().includes(words));
    if (list.length === 0) return nothing(words ? text().noMatches : t.none, words ? "" : t.noneHint);
    const shown = list.slice(0, this.#most.value);
    return html`
      <ul class="choose">${keyed(shown, ({ id }) => id, (file) => html`
        <li><a href=${addressOf(file.path)} data-file=${file.path} aria-current=${file === chosen ? "true" : null}>
          <span class="body"><b>${file.path.slice(file.path.lastIndexOf("/") + 1)}</b>
            <small title=${moment(file.modified)}>${file.path.slice(ROOT.length + 1, file.path.lastIndexOf("/"))} · ${text().by(fullName(file.modifier), ago(file.modified))}</small></span>
          ${this.#badge(file)}</a></li>`)}
      </ul>
      ${list.length > shown.length ? html`<button class="more" @click=${() => (this.#most.value += PAGE)}>${text().showMore}</button>` : ""}
      ${all.length === MOST ? html`<p class="hint">${t.notAll(MOST)}</p>` : ""}`;
  }

  /** @param {ConfigFile} file */
  #badge(file) {
    const t = text().admin.configuration;
    const count = this.#faultsOf(file).length;
    if (count > 0) return html`<span class="badge bad">${t.faults(count)}</span>`;
    const at = this.#read.value.get(CACHES[file.path.split("/")[2]]);
    return at !== undefined && file.modified > at ? html`<span class="badge warn">${t.waits}</span>` : "";
  }

  /** Brings what is saved into force: the caches, and the site configuration, which is read by a call of its own. */
  #refresh() {
    return this.#state.run(async () => {
      const caches = await call("GET", "v3/conf/cache/refresh");
      const site = await call("POST", "v3/conf/xmlfiles/clearcache");
      const items = [...caches.result.items, ...site.result.items];
      /** @type {Fault[]} */
      const faults = [...caches.result.errors, ...site.result.errors];
      this.#keepTimes(items);
      this.#faults.value = faults;
      if (faults.length === 0) notify(text().admin.configuration.inForce);
    });
  }

  #close() {
    const path = `${ROOT}/${this.#chosen.now}`;
    location.hash = "#/admin/configuration";
    requestAnimationFrame(() => /** @type {HTMLElement | null} */ (this.querySelector(`[data-file="${CSS.escape(path)}"]`) ?? this.querySelector("input"))?.focus());
  }
}

/** @param {string} path */
const addressOf = (path) => `#/admin/configuration/${encodeURIComponent(path.slice(ROOT.length + 1))}`;

/**
 * @param {any} record
 * @returns {ConfigFile}
 */
const fileOf = (record) => ({
  id: record.id,
  path: record.path,
  type: record.virtualAttributes?.contentType ?? "",
  size: record.virtualAttributes?.size ?? 0,
  modified: record.modified * 1000,
  modifier: record.lastModifier,
});

customElements.define("admin-configuration", AdminConfiguration);
