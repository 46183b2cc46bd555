// The topics of a plan in its order, with dividers between them.

import { fullName, user } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal } from "../lib/view.js";
import { ask } from "../parts/dialog.js";
import { openMenu } from "../parts/menu.js";
import { copy, notify, notifyFault, say } from "../parts/notices.js";
import { besideName, icon } from "../parts/signs.js";
import { explain, text } from "../text/index.js";
import "../find/picker.js";
import { editTopic } from "./fields.js";
import { LineList } from "./list.js";
import { marks } from "./marks.js";
import { openStatusMenu } from "./statuses.js";
import { itemsOf } from "./topic.js";

/** @typedef {import("./plan.js").Plan} Plan */
/** @typedef {import("./plan.js").Line} Line */
/** @typedef {import("./topic.js").Topic} Topic */

/**
 * What the page does for its parts.
 * @typedef {object} Desk
 * @property {(topic: string, item?: string) => void} open Opens a topic beside the plan.
 * @property {() => string} opened The open topic.
 * @property {() => { id: string, title: string }[]} plans The plans that are known.
 */

/** @extends {LineList<Line>} */
class PlanBoard extends LineList {
  /** @type {Signal<Plan | null>} */
  #plan = new Signal(/** @type {Plan | null} */ (null));
  /** @type {Desk} */
  desk = /** @type {any} */ (undefined);

  /** @param {Plan} plan */
  set plan(plan) {
    this.#plan.value = plan;
  }

  get plan() {
    return /** @type {Plan} */ (this.#plan.value);
  }

  /** @override */
  linesOf() {
    return this.plan.lines.now;
  }

  /** @override @param {Line} line */
  titleOf(line) {
    if (line.kind === "divider") return line.title || text().divider;
    return this.plan.topics.now.get(line.id)?.info.now.title || line.name;
  }

  /** @override @param {Line} line @param {string} from @param {string} to @param {number} index */
  move(line, from, to, index) {
    return from === to ? this.plan.moveLine(line, index) : undefined;
  }

  /** @override @param {Line} line */
  hold(line) {
    return this.plan.hold(line.kind === "divider" ? "" : line.id, "position");
  }

  template() {
    const { plan } = this;
    const lines = plan.lines.value;
    this.reach(lines.map(({ id }) => id));
    const title = plan.info.value.title;
    return html`
      ${lines.length === 0 && plan.state.value === "there"
        ? html`<div class="nothing"><p><b>${text().emptyPlan}</b></p><p>${text().emptyPlanHint}</p></div>` : ""}
      <ol class="lines" data-drawer=${plan.loid} data-scrolls aria-label=${title} aria-describedby="line-help"
        @keydown=${(/** @type {KeyboardEvent} */ event) => this.key(event)}
        @focusin=${(/** @type {FocusEvent} */ event) => this.focused(event)}>
        ${keyed(lines, ({ id }) => id, (line, index) => (line.kind === "divider" ? this.#divider(line) : this.#topic(line, index, lines.length)))}
      </ol>
      ${plan.isComplete ? "" : html`<button class="more" @click=${() => plan.readMore()}>${text().showMore}</button>`}
      ${plan.waiting.value > 0 ? html`<p class="waiting">${text().changesWait(plan.waiting.value)}</p>` : ""}
      <div class="adding">
        <button @click=${() => this.#makeTopic()}>${icon("topic")}${text().newTopic}</button>
        <button @click=${() => this.#makeDivider()}>${icon("add")}${text().divider}</button>
        <object-picker .families=${"topic"} .label=${text().addTopic} .verb=${text().add} .pick=${this.#pick}></object-picker>
      </div>`;
  }

  #pick = async (/** @type {string} */ source) => {
    await this.plan.add(source);
    say(text().topicAdded);
  };

  /** @param {import("./lines.js").Divider} line */
  #divider(line) {
    return html`
      <li class=${`divider${this.classesOf(this.plan.loid, line.id)}`} data-object=${line.id} tabindex=${line.id === this.reached ? 0 : -1}
        aria-label=${`${text().divider}: ${line.title}`} @pointerdown=${(/** @type {PointerEvent} */ event) => this.press(event)}>
        <span class="grip" aria-hidden="true">${icon("grip")}</span>
        <h2><bdi>${line.title}</bdi></h2>
        <button class="plain line-menu" tabindex="-1" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${line.title}`}
          @click=${(/** @type {Event} */ event) => this.#menu(/** @type {Element} */ (event.currentTarget), line)}>${icon("more")}</button>
      </li>`;
  }

  /**
   * @param {import("./plan.js").TopicLine} line
   * @param {number} index
   * @param {number} count
   */
  #topic(line, index, count) {
    const topic = this.plan.topics.value.get(line.id);
    const info = topic?.info.value;
    const title = info?.title || line.name;
    const isOpen = this.desk.opened() === line.id;
    const mark = this.plan.marks.value.get(line.id);
    const other = mark && mark.user !== user.value?.name ? mark : null;
    const holder = this.plan.present.value.find(({ part, user: by }) => part === line.id && by !== user.value?.name);
    const classes = `topic${isOpen ? " open" : ""}${other || holder ? " marked" : ""}${this.classesOf(this.plan.loid, line.id)}`;
    return html`
      <li class=${classes} data-object=${line.id} tabindex=${line.id === this.reached ? 0 : -1} aria-current=${isOpen ? "true" : null}
        aria-label=${text().position(title, index + 1, count)} @click=${(/** @type {Event} */ event) => this.#clicked(event, line.id)}
        @pointerdown=${(/** @type {PointerEvent} */ event) => this.press(event)}>
        <span class="grip" aria-hidden="true" title=${text().grip(title)}>${icon("grip")}</span>
        <div class="body">
          <h3><bdi>${title}</bdi></h3>
          ${info?.description ? html`<p class="lead"><bdi>${info.description}</bdi></p>` : ""}
          <p class="facts">
            ${info?.status ? marks.status(info.status, info.statusColour) : ""}
            ${topic ? html`<span>${text().items(topic.total.value)}</span>` : ""}
            ${topic ? marks.summary(topic) : ""}
          </p>
          ${holder ? html`<p class="hand">${besideName(holder.user)}${text().isDragged(fullName(holder.user))}</p>` : ""}
          ${other && !holder ? html`<p class="hand">${besideName(other.user)}${fullName(other.user)}: ${text().did[other.kind] ?? ""}</p>` : ""}
        </div>
        <button class="plain line-menu" tabindex="-1" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${title}`}
          @click=${(/** @type {Event} */ event) => this.#menu(/** @type {Element} */ (event.currentTarget), line)}>${icon("more")}</button>
      </li>`;
  }

  /**
   * @param {Event} event
   * @param {string} topic
   */
  #clicked(event, topic) {
    if (!(/** @type {Element} */ (event.target).closest("button"))) this.desk.open(topic);
  }

  /** @override @param {Line} line @param {string} _list @param {KeyboardEvent} event @param {HTMLElement} element */
  act(line, _list, event, element) {
    const isMenu = event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
    if (isMenu || (event.key === "Enter" && line.kind === "divider")) this.#menu(/** @type {Element} */ (element.querySelector(".line-menu")), line);
    else if (event.key === "Enter") this.desk.open(line.id);
    else if (event.key === "F2" && line.kind === "divider") this.#rename(line);
    else if (event.key === "Delete") void this.#remove(line);
    else return false;
    return true;
  }

  /**
   * @param {Element} button
   * @param {Line} line
   */
  #menu(button, line) {
    const topic = this.plan.topics.now.get(line.id);
    const others = this.desk.plans().filter(({ id }) => id !== this.plan.loid);
    /** @type {import("../parts/menu.js").Entry[]} */
    const own = line.kind === "divider" ? [
      { label: text().rename, act: () => this.#rename(line) },
    ] : [
      { label: text().openTopic, act: () => this.desk.open(line.id) },
      { label: text().editTopic, act: () => topic && editTopic(topic), isOff: !topic },
      { label: text().changeStatusMenu, act: () => topic && void openStatusMenu(button, topic.info.now, (status) => topic.setStatus(line.id, status)), isOff: !topic?.info.now.workflow },
      { label: text().toOtherPlan, act: () => this.#moveAway(line.id), isOff: others.length === 0 },
      { label: text().copyAddress, act: () => void copy(line.id) },
    ];
    openMenu(button, [
      ...own, null, ...this.moves(line, this.plan.loid), null,
      { label: line.kind === "divider" ? text().removeDivider : text().takeOut, act: () => void this.#remove(line), isRisky: true },
    ], this.titleOf(line));
  }

  /** @param {Line} line */
  async #remove(line) {
    const { plan } = this;
    const at = plan.lines.now.findIndex(({ id }) => id === line.id);
    const title = this.titleOf(line);
    try {
      const removed = line.kind === "divider" ? plan.removeDivider(line) : plan.remove(line.id);
      this.leave(line.id);
      await removed;
      const again = () => (line.kind === "divider" ? plan.addDivider(line.title, at) : plan.add(line.id, at));
      notify(text().tookOut(title), { label: text().bringBack, act: () => void again().catch(notifyFault) });
    } catch (error) {
      notifyFault(error);
    }
  }

  /** @param {string} topic */
  #moveAway(topic) {
    const { plan } = this;
    const others = this.desk.plans().filter(({ id }) => id !== plan.loid);
    const fields = html`<label>${text().plan}<select name="plan">${others.map(({ id, title }) => html`<option value=${id}>${title}</option>`)}</select></label>
      <p class="hint">${text().toOtherPlanHint}</p>`;
    ask(text().toOtherPlan, fields, text().move, ({ plan: target }) => plan.moveInto(topic, target).then(() => {}, explain));
  }

  /** @param {import("./lines.js").Divider} line */
  #rename(line) {
    const fields = html`<label>${text().heading}<input name="title" maxlength="250" .value=${line.title} autofocus></label>`;
    ask(text().rename, fields, text().save, ({ title }) => this.plan.renameDivider(line, title).then(() => {}, explain));
  }

  #makeDivider() {
    const { plan } = this;
    const at = plan.lines.now.findIndex(({ id }) => id === this.current && this.current !== "");
    const fields = html`<label>${text().heading}<input name="title" maxlength="250" required autofocus></label>
      ${at < 0 ? "" : html`<label class="check"><input type="checkbox" name="here" value="true">${text().beforeCurrent(this.titleOf(plan.lines.now[at]))}</label>`}`;
    ask(text().newDivider, fields, text().create, ({ title, here }) => plan.addDivider(title, here ? at : undefined).then(() => {}, explain));
  }

  #makeTopic() {
    const { plan } = this;
    const fields = html`
      <label>${text().drawerTitle}<input name="title" maxlength="300" required autofocus></label>
      <label>${text().drawerDescription}<textarea name="description" rows="2" maxlength="4000"></textarea></label>
      <label>${text().beginWith}<select name="template"><option value="">${text().beginEmpty}</option><option value="default">${text().beginTemplate}</option>
        ${[...plan.topics.now].map(([id, topic]) => html`<option value=${id}>${text().beginLike(topic.info.now.title)}</option>`)}</select></label>`;
    ask(text().newTopic, fields, text().create, async ({ title, description, template }) => {
      try {
        this.desk.open(await plan.makeTopic({ title, description, template }));
      } catch (error) {
        return explain(error);
      }
    });
  }
}

customElements.define("plan-board", PlanBoard);

/**
 * All items of the topics that are shown, each with its topic.
 * @param {Plan} plan
 */
export const allItems = (plan) =>
  [...plan.topics.value.values()].flatMap((topic) => itemsOf(topic.lines.value).map((item) => ({ topic, item })));
