// The state of the continuous backup.

import { call } from "../api/calls.js";
import { html } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { ago, moment, text } from "../text/index.js";
import { explainFault, readAgain } from "./section.js";

/** The pause between two readings, in milliseconds. */
const PAUSE = 10_000;

/**
 * @typedef {{ enabled: boolean, target: string, archived: number, committed: number, spoolBytes: number, fault: string | null,
 *   gap: string | null, base: { change: number, takenAt: number } | null, isTakingBase: boolean, baseFault: string | null,
 *   pruneFault: string | null, drill: { verifiedAt: number | null, fault: string | null } | null }} Backup
 */

class AdminBackup extends View {
  /** @type {Signal<Backup | null>} */
  #backup = new Signal(/** @type {Backup | null} */ (null));
  #fault = new Signal("");

  begin() {
    this.during(readAgain(() => this.#read(), PAUSE));
  }

  async #read() {
    try {
      this.#backup.value = (await call("GET", "v3/server/backup")).result;
      this.#fault.value = "";
    } catch (error) {
      this.#fault.value = explainFault(error);
    }
  }

  template() {
    const t = text().admin.backup;
    const backup = this.#backup.value;
    return html`
      <section class="findings" aria-labelledby="backup-title">
        <header><h3 id="backup-title">${t.title}</h3></header>
        <p class="fault" role="alert">${this.#fault.value}</p>
        ${backup ? stateOf(backup) : ""}
      </section>`;
  }
}

/** @param {Backup} backup */
function stateOf(backup) {
  const t = text().admin.backup;
  if (!backup.enabled) return html`<p class="outcome warn"><b>${t.none}</b> ${t.noneHint}</p>`;
  const { target, archived, committed, fault, gap, base, isTakingBase, baseFault, pruneFault, drill } = backup;
  const faults = [fault, gap, baseFault, pruneFault, drill?.fault].filter(Boolean);
  return html`
    ${faults.length > 0
      ? html`<ul>${faults.map((one) => html`<li class="outcome bad"><p lang="en">${one}</p></li>`)}</ul>`
      : html`<p class="outcome good"><b>${archived === committed ? t.complete : t.behind(committed - archived)}</b></p>`}
    <dl>
      <div><dt>${t.target}</dt><dd>${target}</dd></div>
      <div><dt>${t.base}</dt><dd>${base ? html`<time title=${moment(base.takenAt)}>${ago(base.takenAt)}</time>` : t.noBase}${isTakingBase ? ` ${t.takingBase}` : ""}</dd></div>
      <div><dt>${t.drill}</dt><dd>${drill?.verifiedAt ? html`<time title=${moment(drill.verifiedAt)}>${ago(drill.verifiedAt)}</time>` : t.noDrill}</dd></div>
    </dl>`;
}

customElements.define("admin-backup", AdminBackup);
