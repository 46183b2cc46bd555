// The page of administration: its sections, each loaded when it is shown.

import { partsOfAddress } from "../api/calls.js";
import { rights } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View, effect } from "../lib/view.js";
import { notifyFault } from "../parts/notices.js";
import { text } from "../text/index.js";

/** @typedef {keyof typeof SECTIONS} Section */

/**
 * The sections, with the privilege that each needs everywhere; an empty one for none.
 */
const SECTIONS = {
  people: { needs: "manageGroups", load: () => import("./people.js"), element: () => html`<admin-people></admin-people>` },
  groups: { needs: "manageGroups", load: () => import("./groups.js"), element: () => html`<admin-groups></admin-groups>` },
  keys: { needs: "manageGroups", load: () => import("./keys.js"), element: () => html`<admin-keys></admin-keys>` },
  sessions: { needs: "", load: () => import("./sessions.js"), element: () => html`<admin-sessions></admin-sessions>` },
  configuration: { needs: "configure", load: () => import("./configuration.js"), element: () => html`<admin-configuration></admin-configuration>` },
  webhooks: { needs: "configure", load: () => import("./webhooks.js"), element: () => html`<admin-webhooks></admin-webhooks>` },
  audit: { needs: "configure", load: () => import("./audit.js"), element: () => html`<admin-audit></admin-audit>` },
  health: { needs: "", load: () => import("./health.js"), element: () => html`<admin-health></admin-health>` },
};

const NAMES = /** @type {Section[]} */ (Object.keys(SECTIONS));

/** Whether the user has what a section needs; also true before that is known. @param {Section} name */
const isOpen = (name) => SECTIONS[name].needs === "" || (rights.value?.has(SECTIONS[name].needs) ?? true);

/** @returns {Section} */
function sectionOfAddress() {
  const [page, shown] = partsOfAddress();
  if (page === "admin" && shown in SECTIONS) return /** @type {Section} */ (shown);
  return NAMES.find(isOpen) ?? "people";
}

class AdminPage extends View {
  #section = new Signal(sectionOfAddress());
  /** The sections whose elements are defined. @type {Signal<Set<Section>>} */
  #loaded = new Signal(/** @type {Set<Section>} */ (new Set()));

  begin() {
    const follow = () => (this.#section.value = sectionOfAddress());
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    this.during(effect(() => void this.#load(this.#section.value).catch(notifyFault)));
    // Without a section in the address it is the first one that is open, once that is known.
    this.during(effect(() => void (rights.value && follow())));
  }

  /** @param {Section} name */
  async #load(name) {
    await SECTIONS[name].load();
    this.#loaded.value = new Set([...this.#loaded.now, name]);
    // On a narrow screen the sections are a row that scrolls.
    this.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  template() {
    const section = this.#section.value;
    return html`
      <div class="admin">
        <nav class="sections" aria-label=${text().administration}>
          <h1>${text().administration}</h1>
          ${NAMES.filter(isOpen).map((name) => html`
            <a href=${`#/admin/${name}`} aria-current=${name === section ? "page" : null}>${text().admin.sections[name]}</a>`)}
        </nav>
        <div class="section" tabindex="0">${keyed([section], (name) => name, (name) => html`${this.#content(name)}`)}</div>
      </div>`;
  }

  /** @param {Section} name */
  #content(name) {
    if (rights.value && !isOpen(name)) return html`
      <div class="nothing refused"><p><b>${text().admin.refused(text().admin.sections[name])}</b></p>
        <p>${text().admin.refusedHint(text().admin.privileges[/** @type {"read"} */ (SECTIONS[name].needs)])}</p></div>`;
    return this.#loaded.value.has(name) && rights.value ? SECTIONS[name].element() : "";
  }
}

customElements.define("admin-page", AdminPage);
