// The page of planning: a plan of topics, by its order or by days, and one topic beside it.

import { call, partsOfAddress } from "../api/calls.js";
import { user } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { ask } from "../parts/dialog.js";
import { openMenu } from "../parts/menu.js";
import { copy, notify, notifyFault } from "../parts/notices.js";
import { icon, personMark } from "../parts/signs.js";
import { explain, text } from "../text/index.js";
import { openCalendar } from "./calendar.js";
import { TopicPane } from "./pane.js";
import { openPicker } from "./pick.js";
import { Plan, makePlan } from "./plan.js";
import { openStatusMenu } from "./statuses.js";
import { Topic } from "./topic.js";
import "./board.js";
import "./days.js";

/** The number of plans that can be chosen, the latest ones. */
const MOST = 24;

/** The time between two signs that this session is here, in milliseconds. */
const SIGN = 20_000;

/** Templates lie below it, and are chosen only if there is nothing else. */
const CONFIGURATION = "/SysConfig/";

/** @typedef {{ id: string, title: string }} Known */

class PlanningPage extends View {
  /** @type {Signal<Plan | null>} */
  #plan = new Signal(/** @type {Plan | null} */ (null));
  /** The topic beside the plan. @type {Signal<Topic | null>} */
  #topic = new Signal(/** @type {Topic | null} */ (null));
  /** The plans that can be chosen. @type {Signal<Known[] | null>} */
  #known = new Signal(/** @type {Known[] | null} */ (null));
  #isByDay = new Signal(localStorage.getItem("stet.planning") === "days");

  begin() {
    const signs = setInterval(() => (this.#plan.now?.stay(), this.#topic.now?.stay()), SIGN);
    this.during(() => clearInterval(signs));
    this.during(() => this.#plan.now?.close());
    this.during(() => this.#closeTopic());
    const follow = () => this.#show();
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    this.#show();
    this.#readKnown().catch((error) => {
      this.#known.value ??= [];
      notifyFault(error);
    });
  }

  get #keptUnder() {
    return `stet.plan.${user.now?.name}`;
  }

  /** Shows the plan that the address names, and the topic behind it. */
  #show() {
    const [page, shown] = partsOfAddress();
    if (page !== "planning") return;
    const [loid, topic] = shown.split(",");
    if (loid && loid !== this.#plan.now?.loid) {
      this.#closeTopic();
      this.#plan.now?.close();
      const plan = new Plan(loid);
      this.#plan.value = plan;
      plan.open();
      localStorage.setItem(this.#keptUnder, loid);
    } else if (!loid && this.#known.now) {
      this.#showFirst();
    }
    if (topic !== this.#topic.now?.loid) this.#showTopic(topic);
  }

  /** @param {string | undefined} loid */
  #showTopic(loid) {
    this.#closeTopic();
    if (!loid) return;
    // One of the plan's own is read and followed with it, unless there are too many.
    const topic = new Topic(loid, false);
    this.#topic.value = topic;
    topic.open();
  }

  #closeTopic() {
    this.#topic.now?.close();
    this.#topic.value = null;
  }

  async #readKnown() {
    const query = { families: "topicplan", sort: "modified", limit: MOST, highlight: false, showPath: true };
    const { result } = await call("GET", "v3/search", { query });
    const isTemplate = (/** @type {any} */ item) => Number(item.path?.startsWith(CONFIGURATION) ?? false);
    const items = result.items.toSorted((/** @type {any} */ one, /** @type {any} */ other) => isTemplate(one) - isTemplate(other));
    this.#known.value = items.map((/** @type {any} */ { id, name }) => ({ id, title: name }));
    this.#show();
    // Search does not know titles.
    const known = await Promise.all(items.map((/** @type {any} */ { id, name }) => titleOf(id).then((title) => ({ id, title: title || name }))));
    if (this.isConnected) this.#known.value = known;
  }

  #showFirst() {
    const known = this.#known.now ?? [];
    const kept = localStorage.getItem(this.#keptUnder);
    const first = known.find(({ id }) => id === kept) ?? known[0];
    if (first) location.replace(`#/planning/${first.id}`);
  }

  /** @type {import("./board.js").Desk} */
  #desk = {
    open: (topic, item) => {
      location.hash = `#/planning/${this.#plan.now?.loid},${topic}`;
      this.#focusPane(topic, item);
    },
    opened: () => this.#topic.value?.loid ?? "",
    plans: () => this.#known.now ?? [],
  };

  /**
   * Puts the focus into the topic once it is shown.
   * @param {string} topic
   * @param {string | undefined} item
   */
  #focusPane(topic, item) {
    const look = () => {
      // Meanwhile somebody may have gone elsewhere.
      if (!this.isConnected || !partsOfAddress()[1].endsWith(topic)) return;
      const pane = this.querySelector("topic-pane");
      if (this.#topic.now?.loid !== topic || !(pane instanceof TopicPane)) requestAnimationFrame(look);
      else if (item) pane.focusOn(item);
      else /** @type {HTMLElement | null} */ (pane.firstElementChild)?.focus();
    };
    requestAnimationFrame(look);
  }

  template() {
    const plan = this.#plan.value;
    const topic = this.#topic.value;
    if (!plan) return this.#nothing();
    const { title } = plan.info.value;
    return html`
      <div class=${topic ? "planning beside" : "planning"}>
        <div class="toolbar">
          <h1><bdi>${title || text().planning}</bdi></h1>
          ${this.#chooser(plan)}
          <button @click=${() => this.#makePlan()}>${icon("add")}${text().newPlan}</button>
          <span class="gap"></span>
          ${this.#people(plan)}
          <span class="views" role="group" aria-label=${text().view}>
            <button aria-pressed=${String(!this.#isByDay.value)} @click=${() => this.#view(false)}>${text().inOrder}</button>
            <button aria-pressed=${String(this.#isByDay.value)} @click=${() => this.#view(true)}>${text().byDay}</button></span>
          <button class="plain" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${title}`}
            @click=${(/** @type {Event} */ event) => this.#menu(/** @type {Element} */ (event.currentTarget), plan)}>${icon("more")}</button>
        </div>
        <p id="line-help" class="unseen">${text().planHelp}</p>
        <p id="item-help" class="unseen">${text().topicHelp}</p>
        <div class="halves">
          <div class="half">${this.#body(plan)}</div>
          ${keyed(topic ? [topic] : [], (one) => one, (one) => html`
            <topic-pane .topic=${one} .close=${this.#leaveTopic} .others=${this.#otherTopics}></topic-pane>`)}
        </div>
      </div>`;
  }

  #nothing() {
    if (!this.#known.value || this.#known.value.length > 0) return html`<div class="planning"></div>`;
    return html`
      <div class="planning"><div class="nothing"><p><b>${text().noPlans}</b></p><p>${text().noPlansHint}</p>
        <p><button class="primary" @click=${() => this.#makePlan()}>${text().newPlan}</button></p></div></div>`;
  }

  /** @param {Plan} plan */
  #body(plan) {
    if (plan.state.value === "gone") return html`<div class="nothing"><p>${text().planGone}</p></div>`;
    const { description } = plan.info.value;
    return html`
      ${description ? html`<p class="lead"><bdi>${description}</bdi></p>` : ""}
      ${this.#isByDay.value
        ? html`<plan-days .plan=${plan} .desk=${this.#desk}></plan-days>`
        : html`<plan-board .plan=${plan} .desk=${this.#desk}></plan-board>`}`;
  }

  /** @param {Plan} plan */
  #chooser(plan) {
    const known = this.#known.value ?? [];
    const all = known.some(({ id }) => id === plan.loid) ? known : [{ id: plan.loid, title: plan.info.value.title }, ...known];
    return html`
      <label class="chooser"><span class="unseen">${text().choosePlan}</span>
        <select @change=${(/** @type {Event} */ event) => (location.hash = `#/planning/${/** @type {HTMLSelectElement} */ (event.target).value}`)}>
          ${all.map(({ id, title }) => html`<option value=${id} ?selected=${id === plan.loid}>${title}</option>`)}
        </select></label>`;
  }

  /** @param {Plan} plan */
  #people(plan) {
    const names = new Set(plan.present.value.map((one) => one.user).filter((name) => name !== user.value?.name));
    return html`<span class="people" role="group" aria-label=${text().whoIsHere}>${keyed(names, (name) => name, personMark)}</span>`;
  }

  #leaveTopic = () => {
    const before = this.#topic.now?.loid ?? "";
    location.hash = `#/planning/${this.#plan.now?.loid}`;
    requestAnimationFrame(() => /** @type {HTMLElement | null} */ (this.querySelector(`plan-board [data-object="${CSS.escape(before)}"]`))?.focus());
  };

  #otherTopics = () =>
    [...(this.#plan.now?.topics.now ?? [])]
      .filter(([id]) => id !== this.#topic.now?.loid)
      .map(([id, topic]) => ({ id, title: topic.info.now.title }));

  /** @param {boolean} isByDay */
  #view(isByDay) {
    this.#isByDay.value = isByDay;
    localStorage.setItem("stet.planning", isByDay ? "days" : "order");
  }

  /**
   * @param {Element} button
   * @param {Plan} plan
   */
  #menu(button, plan) {
    const { title, folder, workflow } = plan.info.now;
    const folders = () => [folder, ...[...plan.topics.now.values()].map((topic) => topic.info.now.folder)];
    openMenu(button, [
      { label: text().findPlan, act: () => this.#find() },
      { label: text().calendar, act: () => openCalendar("topicplan", plan.loid, title, folders()) },
      { label: text().changeStatusMenu, act: () => void openStatusMenu(button, plan.info.now, (status) => plan.setStatus(status)), isOff: !workflow },
      { label: text().copyAddress, act: () => void copy(plan.loid) },
      null,
      { label: text().discard, act: () => void this.#discard(plan), isRisky: true },
    ], title);
  }

  /** Opens a plan that is not among the latest. */
  #find() {
    const pick = async (/** @type {string} */ source) => {
      const { result } = await call("GET", "v3/container/topicplan/{source}", { parts: { source }, query: { limit: 0 } });
      location.hash = `#/planning/${result.info.id}`;
    };
    openPicker({ title: text().findPlan, hint: text().findPlanHint, verb: text().open, families: "topicplan", pick });
  }

  /** @param {Plan} plan */
  async #discard(plan) {
    const parts = { plan: plan.loid };
    const restore = () => call("POST", "v3/object/{plan}/restore", { parts, body: {} }).then(() => plan.read());
    try {
      await call("DELETE", "v3/object/{plan}/discard", { parts });
      notify(text().wasDiscarded(plan.info.now.title), { label: text().bringBack, act: () => void restore().catch(notifyFault) });
    } catch (error) {
      notifyFault(error);
    }
  }

  #makePlan() {
    const known = this.#known.now ?? [];
    const folder = this.#plan.now?.info.now.folder || undefined;
    const fields = html`
      <label>${text().drawerTitle}<input name="title" maxlength="300" required autofocus></label>
      <label>${text().drawerDescription}<input name="description" maxlength="1000"></label>
      <label>${text().beginWith}<select name="template"><option value="">${text().beginEmpty}</option>
        <option value="default">${text().beginTemplate}</option>
        ${known.map(({ id, title }) => html`<option value=${id}>${text().dividersOf(title)}</option>`)}</select></label>`;
    ask(text().newPlan, fields, text().create, async ({ title, description, template }) => {
      try {
        const loid = await makePlan({ title, description, template, folder });
        this.#known.value = [{ id: loid, title }, ...known];
        location.hash = `#/planning/${loid}`;
      } catch (error) {
        return explain(error);
      }
    });
  }
}

/**
 * The title of a plan; empty if it can't be read.
 * @param {string} plan
 * @returns {Promise<string>}
 */
const titleOf = (plan) =>
  call("GET", "v3/container/topicplan/{plan}", { parts: { plan }, query: { limit: 0 } }).then(({ result }) => result.info.title, () => "");

customElements.define("planning-page", PlanningPage);
