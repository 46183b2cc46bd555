// The health of the server, drawn as it changes: from its metrics and its own word on whether it is ready.

import { outside } from "../api/raw.js";
import { rights } from "../api/people.js";
import { html } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { language, text } from "../text/index.js";
import { drawn } from "./chart.js";
import "./backup.js";
import "./findings.js";
import { parseMetrics, quantile, sum } from "./metrics.js";
import { explainFault, head, readAgain } from "./section.js";

/** @typedef {import("./metrics.js").Metrics} Metrics */
/** @typedef {keyof typeof CHARTS} Chart */

/** The pause between two readings, in milliseconds. */
const PAUSE = 5000;

/** The readings that are kept: those of five minutes. */
const KEPT = 300_000 / PAUSE + 1;

/**
 * What is drawn: the value of a chart between two readings, which lie `seconds` apart.
 * @type {Record<string, { unit: "rate" | "time" | "count" | "bytes", value: (before: Metrics, now: Metrics, seconds: number) => number | null }>}
 */
const CHARTS = {
  requests: { unit: "rate", value: (before, now, seconds) => rate(before, now, seconds, "stet_http_requests_total") },
  median: { unit: "time", value: (before, now) => quantile(before, now, "stet_http_request_seconds", 0.5) },
  slowest: { unit: "time", value: (before, now) => quantile(before, now, "stet_http_request_seconds", 0.99) },
  errors: { unit: "rate", value: (before, now, seconds) => rate(before, now, seconds, "stet_http_server_errors_total") },
  commits: { unit: "rate", value: (before, now, seconds) => rate(before, now, seconds, "stet_store_commits_total") },
  queue: { unit: "count", value: (_, now) => sum(now, "stet_store_pending") },
  followers: { unit: "count", value: (_, now) => sum(now, "stet_event_followers") },
  memory: { unit: "bytes", value: (_, now) => sum(now, "process_resident_memory_bytes") },
};

/**
 * @param {Metrics} before
 * @param {Metrics} now
 * @param {number} seconds
 * @param {string} name
 */
const rate = (before, now, seconds, name) => Math.max(0, sum(now, name) - sum(before, name)) / seconds;

class AdminHealth extends View {
  /** @type {Signal<{ at: number, values: Partial<Record<Chart, number | null>> }[]>} */
  #points = new Signal(/** @type {{ at: number, values: Partial<Record<Chart, number | null>> }[]} */ ([]));
  /** @type {Signal<Metrics | null>} */
  #now = new Signal(/** @type {Metrics | null} */ (null));
  /** @type {Signal<{ status: number, body: any } | null>} */
  #ready = new Signal(/** @type {{ status: number, body: any } | null} */ (null));
  #fault = new Signal("");
  #at = 0;

  begin() {
    this.during(readAgain(() => this.#read(), PAUSE));
  }

  async #read() {
    try {
      const [metrics, ready] = await Promise.all([outside("metrics"), outside("readyz")]);
      this.#ready.value = { status: ready.status, body: parse(ready.text) };
      if (metrics.status !== 200) {
        this.#fault.value = text().admin.health.noMetrics(metrics.status);
        return;
      }
      this.#take(parseMetrics(metrics.text), performance.now());
      this.#fault.value = "";
    } catch (error) {
      this.#fault.value = explainFault(error);
    }
  }

  /**
   * @param {Metrics} now
   * @param {number} at
   */
  #take(now, at) {
    const before = this.#now.now;
    this.#now.value = now;
    const seconds = (at - this.#at) / 1000;
    this.#at = at;
    // The first reading has none before it. A server that has started anew counts from 0.
    if (!before || sum(now, "process_start_time_seconds") !== sum(before, "process_start_time_seconds")) return;
    const values = Object.fromEntries(Object.entries(CHARTS).map(([name, { value }]) => [name, value(before, now, seconds)]));
    this.#points.value = [...this.#points.now, { at: Date.now(), values }].slice(-KEPT);
  }

  template() {
    const t = text().admin.health;
    return html`
      ${head(text().admin.sections.health, t.lead)}
      <div role="status">${this.#state()}</div>
      <p class="fault" role="alert">${this.#fault.value}</p>
      ${rights.value?.has("configure") ? html`<admin-findings></admin-findings><admin-backup></admin-backup>` : ""}
      <div class="charts">${Object.keys(CHARTS).map((name) => this.#chart(name))}</div>
      ${this.#now.value ? this.#facts(this.#now.value) : ""}`;
  }

  #state() {
    const t = text().admin.health;
    const ready = this.#ready.value;
    if (!ready) return "";
    const why = [ready.body?.why ?? []].flat().map(String);
    if (ready.status === 200 && why.length === 0) return html`<p class="outcome good"><b>${t.ready}</b></p>`;
    return html`<div class=${ready.status === 200 ? "outcome warn" : "outcome bad"}><p><b>${ready.status === 200 ? t.readyBut : t.notReady}</b> ${ready.body?.status ?? ""}</p>
      ${why.map((one) => html`<p>${one}</p>`)}</div>`;
  }

  /** @param {Chart} name */
  #chart(name) {
    const t = text().admin.health;
    const { unit } = CHARTS[name];
    const points = this.#points.value.map(({ at, values }) => ({ at, value: values[name] ?? null }));
    const last = points.at(-1)?.value ?? null;
    const label = t.charts[/** @type {"requests"} */ (name)];
    return html`
      <figure data-chart=${name}>
        <figcaption><span>${label}</span><b>${last === null ? t.none : shown(last, unit)}</b></figcaption>
        ${drawn(points, KEPT * PAUSE, label)}
        <small>${points.some(({ value }) => value !== null) ? t.most(shown(Math.max(...points.map(({ value }) => value ?? 0)), unit)) : t.waits}</small>
      </figure>`;
  }

  /** @param {Metrics} now */
  #facts(now) {
    const t = text().admin.health;
    const free = sum(now, "stet_data_disk_free_bytes", 'of="store"');
    const size = sum(now, "stet_data_disk_bytes", 'of="store"');
    const broken = [...(now.get("stet_cache_broken") ?? [])].filter(([, value]) => value > 0).map(([labels]) => /cache="([^"]*)"/.exec(labels)?.[1] ?? "");
    const version = /version="([^"]*)"/.exec([...(now.get("stet_build_info")?.keys() ?? [])][0] ?? "")?.[1] ?? "";
    const quarantined = sum(now, "stet_containers_quarantined");
    /** @type {[string, string, boolean][]} */
    const facts = [
      [t.version, version, false],
      [t.upSince, new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" }).format(1000 * sum(now, "process_start_time_seconds")), false],
      [t.disk, size ? t.freeOf(shown(free, "bytes"), shown(size, "bytes")) : t.none, size > 0 && free / size < 0.1],
      [t.data, shown(sum(now, "stet_data_bytes"), "bytes"), false],
      [t.search, sum(now, "stet_search_complete") ? t.documents(sum(now, "stet_search_documents")) : t.searchBehind, !sum(now, "stet_search_complete")],
      [t.containers, sum(now, "stet_containers").toLocaleString(language()), false],
      [t.quarantined, quarantined.toLocaleString(language()), quarantined > 0],
      [t.failedCommits, sum(now, "stet_store_failed_commits_total").toLocaleString(language()), sum(now, "stet_store_failed_commits_total") > 0],
      [t.refused, sum(now, "stet_overloaded_total").toLocaleString(language()), sum(now, "stet_overloaded_total") > 0],
      [t.configuration, broken.length > 0 ? t.broken(broken.join(", ")) : t.sound, broken.length > 0],
      [t.webhooksFailing, sum(now, "stet_webhooks", 'state="failing"').toLocaleString(language()), sum(now, "stet_webhooks", 'state="failing"') > 0],
      [t.mails, sum(now, "stet_mails_waiting").toLocaleString(language()), false],
    ];
    return html`<dl class="facts-table">${facts.map(([name, value, isBad]) => html`<div class=${isBad ? "bad" : ""}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
  }
}

/** @param {string} body */
function parse(body) {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/**
 * A value with its unit.
 * @param {number} value
 * @param {"rate" | "time" | "count" | "bytes"} unit
 */
function shown(value, unit) {
  const tag = language();
  const number = (/** @type {number} */ one, digits = one < 10 ? 1 : 0) => one.toLocaleString(tag, { maximumFractionDigits: digits });
  if (unit === "rate") return text().admin.health.perSecond(number(value));
  if (unit === "time") return value < 1 ? `${number(1000 * value)} ms` : `${number(value)} s`;
  if (unit === "count") return number(value, 0);
  const sizes = ["B", "KB", "MB", "GB", "TB"];
  let size = 0;
  for (; value >= 1000 && size < sizes.length - 1; size++) value /= 1000;
  return `${number(value)} ${sizes[size]}`;
}

customElements.define("admin-health", AdminHealth);
