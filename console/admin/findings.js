// What the server finds wrong with its machine, its configuration and its directory, and what is to be done.

import { call } from "../api/calls.js";
import { html } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { say } from "../parts/notices.js";
import { language, text } from "../text/index.js";
import { explainFault } from "./section.js";

/**
 * @typedef {{ level: "ok" | "warn" | "fail", check: string, found: string, advice: string | null }} Finding
 * @typedef {{ findings: Finding[], warnings: number, failures: number }} Report
 */

class AdminFindings extends View {
  /** The last report, and when it was read. @type {Signal<(Report & { at: number }) | null>} */
  #report = new Signal(/** @type {(Report & { at: number }) | null} */ (null));
  #fault = new Signal("");
  #isBusy = new Signal(false);

  begin() {
    this.#read();
  }

  async #read() {
    if (this.#isBusy.now) return;
    this.#isBusy.value = true;
    try {
      const { result } = await call("GET", "v3/server/doctor");
      this.#report.value = { ...result, at: Date.now() };
      this.#fault.value = "";
    } catch (error) {
      this.#fault.value = explainFault(error);
    } finally {
      this.#isBusy.value = false;
    }
  }

  async #again() {
    await this.#read();
    const report = this.#report.now;
    if (report && !this.#fault.now) say(outcomeOf(report));
  }

  template() {
    const t = text().admin.findings;
    const report = this.#report.value;
    const time = new Intl.DateTimeFormat(language(), { timeStyle: "medium" });
    return html`
      <section class="findings" aria-labelledby="findings-title" aria-busy=${String(this.#isBusy.value)}>
        <header><h3 id="findings-title">${t.title}</h3>
          ${report ? html`<small>${t.looked(time.format(report.at))}</small>` : ""}
          <button @click=${() => void this.#again()}>${t.again}</button></header>
        <p class="lead">${t.lead}</p>
        <p class="fault" role="alert">${this.#fault.value}</p>
        ${report ? listOf(report) : ""}
      </section>`;
  }
}

/**
 * The numbers of failures and warnings, in words.
 * @param {Report} report
 */
function outcomeOf({ failures, warnings }) {
  const t = text().admin.findings;
  const numbers = [failures > 0 ? t.failures(failures) : "", warnings > 0 ? t.warnings(warnings) : ""].filter(Boolean);
  return numbers.join(", ") || t.well;
}

/**
 * The failures, then the warnings; the rest is folded away.
 * @param {Report} report
 */
function listOf(report) {
  const t = text().admin.findings;
  const of = (/** @type {Finding["level"]} */ level) => report.findings.filter((one) => one.level === level);
  const open = [...of("fail"), ...of("warn")];
  const others = of("ok");
  return html`
    ${open.length === 0 ? html`<p class="outcome good"><b>${t.well}</b></p>` : html`<ul>${open.map(openFinding)}</ul>`}
    ${others.length > 0 ? html`
      <details><summary>${t.others(others.length)}</summary>
        <dl lang="en">${others.map(({ check, found }) => html`<div><dt>${check}</dt><dd>${withCode(found)}</dd></div>`)}</dl></details>` : ""}`;
}

/** @param {Finding} finding */
function openFinding({ level, check, found, advice }) {
  const t = text().admin.findings;
  return html`
    <li class=${level === "fail" ? "outcome bad" : "outcome warn"} data-level=${level}>
      <p><b>${t.levels[level === "fail" ? "fail" : "warn"]}</b> <span class="check" lang="en">${check}</span></p>
      <p lang="en">${withCode(found)}</p>
      ${advice ? html`<p class="advice"><b>${t.toDo}</b> <span lang="en">${withCode(advice)}</span></p>` : ""}</li>`;
}

/**
 * A text of the server, with what stands between backticks as code.
 * @param {string} words
 */
const withCode = (words) => words.split("`").map((part, at) => (at % 2 ? html`<code>${part}</code>` : html`${part}`));

customElements.define("admin-findings", AdminFindings);
