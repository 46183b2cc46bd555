// The items of a plan by the days on which they are due.

import { fullName } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { openMenu } from "../parts/menu.js";
import { notifyFault } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { halfMinute, language, text } from "../text/index.js";
import { allItems } from "./board.js";
import { dayOf, editItem, issueDay } from "./fields.js";
import { clockTime, marks } from "./marks.js";

/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./topic.js").Topic} Topic */
/** @typedef {import("./topic.js").Item} Item */
/** @typedef {{ topic: Topic, item: Item }} Task */

/** The largest number of items of a day that are shown at first. */
const PAGE = 50;

/** Seconds of a day. */
const DAY = 86_400;

class PlanDays extends View {
  /** @type {Signal<Plan | null>} */
  #plan = new Signal(/** @type {Plan | null} */ (null));
  /** @type {import("./board.js").Desk} */
  desk = /** @type {any} */ (undefined);
  /** Whose items are shown; empty for everybody's. */
  #who = new Signal("");
  /** Days of which everything is shown. @type {Set<string>} */
  #whole = new Set();

  /** @param {Plan} plan */
  set plan(plan) {
    this.#plan.value = plan;
  }

  template() {
    const plan = /** @type {Plan} */ (this.#plan.value);
    void halfMinute();
    const tasks = allItems(plan);
    const people = [...new Set(tasks.flatMap(({ item }) => item.fields.assignees))].sort();
    const who = people.includes(this.#who.value) ? this.#who.value : "";
    const days = byDay(who ? tasks.filter(({ item }) => item.fields.assignees.includes(who)) : tasks);
    const isPart = !plan.isComplete || [...plan.topics.value.values()].some((topic) => !topic.isComplete);
    return html`
      <div class="days" data-scrolls>
        ${people.length > 0 ? html`
          <label class="whose">${text().whose}<select @change=${(/** @type {Event} */ event) => (this.#who.value = /** @type {HTMLSelectElement} */ (event.target).value)}>
            <option value="" ?selected=${who === ""}>${text().everybody}</option>
            ${people.map((name) => html`<option value=${name} ?selected=${who === name}>${fullName(name)}</option>`)}</select></label>` : ""}
        ${isPart ? html`<p class="hint">${text().daysArePart}</p>` : ""}
        ${tasks.length === 0 && plan.state.value === "there" ? html`<div class="nothing"><p><b>${text().noTasks}</b></p><p>${text().noTasksHint}</p></div>` : ""}
        <div class="week">${keyed(days, ([day]) => day, ([day, list]) => this.#day(day, list))}</div>
      </div>`;
  }

  /**
   * @param {string} day Empty for none.
   * @param {Task[]} tasks
   */
  #day(day, tasks) {
    const isToday = day === dayOf(new Date());
    const shown = this.#whole.has(day) ? tasks : tasks.slice(0, PAGE);
    return html`
      <section class=${isToday ? "day today" : "day"} aria-label=${day ? dayName(day) : text().noDay}>
        <h2>${day ? dayName(day) : text().noDay}${isToday ? html` <small>${text().today}</small>` : ""}</h2>
        <ol>${keyed(shown, ({ item }) => item.id, (task) => this.#task(task))}</ol>
        ${shown.length < tasks.length ? html`<button class="more" @click=${() => (this.#whole.add(day), this.changed())}>${text().showMore}</button>` : ""}
      </section>`;
  }

  /** @param {Task} task */
  #task({ topic, item }) {
    const { name, dueDate, assignees } = item.fields;
    const isOver = dueDate !== null && dueDate * 1000 < Date.now();
    return html`
      <li class="task">
        <span class=${isOver ? "time over" : "time"}>${dueDate === null ? "–" : clockTime(dueDate)}</span>
        <div class="body">
          <button class="plain task-name" @click=${() => this.desk.open(topic.loid, item.id)}><bdi>${name}</bdi></button>
          <p class="facts"><bdi>${topic.info.value.title}</bdi>
            ${item.status ? marks.status(item.status, item.statusColour) : ""}${assignees.length > 0 ? marks.people(assignees) : ""}</p>
        </div>
        <button class="plain" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${name}`}
          @click=${(/** @type {Event} */ event) => this.#menu(/** @type {Element} */ (event.currentTarget), topic, item)}>${icon("more")}</button>
      </li>`;
  }

  /**
   * @param {Element} button
   * @param {Topic} topic
   * @param {Item} item
   */
  #menu(button, topic, item) {
    const { dueDate } = item.fields;
    const by = (/** @type {number} */ days) => () => void topic.changeItem(item, { dueDate: (dueDate ?? 0) + days * DAY }).catch(notifyFault);
    openMenu(button, [
      { label: text().edit, act: () => editItem(topic, item) },
      { label: text().openTopic, act: () => this.desk.open(topic.loid, item.id) },
      null,
      { label: text().dayEarlier, act: by(-1), isOff: dueDate === null },
      { label: text().dayLater, act: by(1), isOff: dueDate === null },
    ], item.fields.name);
  }
}

/**
 * Tasks by day, and those of a day by their time. Those without a day come last.
 * @param {Task[]} tasks
 * @returns {[string, Task[]][]}
 */
function byDay(tasks) {
  /** @type {Map<string, Task[]>} */
  const days = new Map();
  for (const task of tasks) {
    const { dueDate, issueDate } = task.item.fields;
    const day = dueDate === null ? issueDay(issueDate) : dayOf(new Date(dueDate * 1000));
    days.set(day, [...(days.get(day) ?? []), task]);
  }
  const time = (/** @type {Task} */ { item }) => item.fields.dueDate ?? Infinity;
  for (const list of days.values()) list.sort((one, other) => (time(one) === time(other) ? 0 : time(one) - time(other)));
  return [...days].sort(([one], [other]) => (one === "" ? 1 : other === "" ? -1 : one.localeCompare(other)));
}

/** @param {string} day */
function dayName(day) {
  const at = new Date(`${day}T12:00`);
  return new Intl.DateTimeFormat(language(), { weekday: "long", day: "numeric", month: "long" }).format(at);
}

customElements.define("plan-days", PlanDays);
