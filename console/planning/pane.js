// The topic that is open beside its plan: its items, their subitems, and dividers.

import { fullName, user } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal } from "../lib/view.js";
import { thumbnail } from "../parts/card.js";
import { ask } from "../parts/dialog.js";
import { openMenu } from "../parts/menu.js";
import { copy, notify, notifyFault, say } from "../parts/notices.js";
import { besideName, icon, personMark } from "../parts/signs.js";
import { explain, text } from "../text/index.js";
import { openCalendar } from "./calendar.js";
import { editItem, editTopic, makeItem } from "./fields.js";
import { LineList } from "./list.js";
import { marks } from "./marks.js";
import { openPicker } from "./pick.js";
import { openStatusMenu } from "./statuses.js";

/** @typedef {import("./topic.js").Topic} Topic */
/** @typedef {import("./topic.js").Item} Item */
/** @typedef {import("./topic.js").Line} Line */
/** @typedef {import("./lines.js").Divider} Divider */

/** @extends {LineList<Line>} */
export class TopicPane extends LineList {
  /** @type {Topic} */
  topic = /** @type {any} */ (undefined);
  /** @type {() => void} */
  close = () => {};
  /** The other topics of the plan. @type {() => { id: string, title: string }[]} */
  others = () => [];
  #isBusy = new Signal(false);

  begin() {
    this.topic.see(true);
    this.during(() => this.topic.see(false));
  }

  /**
   * The parent of the lines of a list.
   * @param {string} list
   */
  #parent(list) {
    return list === this.topic.loid ? "" : list;
  }

  /** @override @param {string} list */
  linesOf(list) {
    return this.topic.siblings(this.#parent(list));
  }

  /** @override @param {Line} line */
  titleOf(line) {
    return line.kind === "divider" ? line.title || text().divider : line.fields.name;
  }

  /** @override @param {Line} line @param {string} from @param {string} to @param {number} index */
  move(line, from, to, index) {
    if (from === to) return this.topic.moveLine(line, this.#parent(from), index);
    // A subitem becomes an item; nothing else may change its list.
    return line.kind === "item" && to === this.topic.loid ? this.topic.moveInto(line, to, index) : undefined;
  }

  /** @override @param {Line} line */
  hold(line) {
    return this.topic.hold(line.kind === "divider" ? "" : line.id, "position");
  }

  template() {
    const { topic } = this;
    if (topic.state.value === "gone") {
      return html`<div class="nothing"><p>${text().topicGone}</p><p><button @click=${() => this.close()}>${text().close}</button></p></div>`;
    }
    const { title, description, status, statusColour, workflow } = topic.info.value;
    const lines = topic.lines.value;
    this.reach(lines.flatMap((line) => [line.id, ...(line.kind === "item" ? line.lines.map(({ id }) => id) : [])]));
    return html`
      <section class="pane" tabindex="-1" aria-label=${title} @keydown=${(/** @type {KeyboardEvent} */ event) => this.#escape(event)}>
        <header>
          <div class="heading">
            <h2><bdi>${title}</bdi></h2>
            <button class="plain" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${title}`}
              @click=${(/** @type {Event} */ event) => this.#topicMenu(/** @type {Element} */ (event.currentTarget))}>${icon("more")}</button>
            <button class="plain" aria-label=${`${text().close}: ${title}`} @click=${() => this.close()}>${icon("close")}</button>
          </div>
          ${description ? html`<p class="lead"><bdi>${description}</bdi></p>` : ""}
          <p class="facts">
            ${workflow ? html`<button class="plain status-button" aria-haspopup="menu" aria-label=${`${text().statusOfIt}: ${status}`}
              @click=${(/** @type {Event} */ event) => void openStatusMenu(/** @type {Element} */ (event.currentTarget), topic.info.now, (to) => topic.setStatus(topic.loid, to))}>
              ${status ? marks.status(status, statusColour) : text().noStatus}</button>` : ""}
            ${marks.summary(topic)}
            ${this.#here()}
          </p>
        </header>
        <div class="items" data-scrolls>
          ${lines.length === 0 && topic.state.value === "there" ? html`<div class="nothing"><p><b>${text().emptyTopic}</b></p><p>${text().emptyTopicHint}</p></div>` : ""}
          ${this.#list(lines, topic.loid, title)}
          ${topic.isComplete ? "" : html`<button class="more" @click=${() => topic.readMore()}>${text().showMore}</button>`}
        </div>
        ${topic.waiting.value > 0 ? html`<p class="waiting">${text().changesWait(topic.waiting.value)}</p>` : ""}
        <form class="adding" @submit=${(/** @type {SubmitEvent} */ event) => this.#add(event)}>
          <input name="name" aria-label=${text().newItem} placeholder=${text().newItemHint} maxlength="250" required autocomplete="off">
          <button ?disabled=${this.#isBusy.value}>${text().add}</button>
          <button type="button" class="plain" @click=${() => makeItem(topic, "", (item) => this.focusOn(item))}>${text().withFields}</button>
          <button type="button" class="plain" @click=${() => this.#makeDivider("")}>${text().divider}</button>
        </form>
      </section>`;
  }

  /** @param {KeyboardEvent} event */
  #escape(event) {
    const target = /** @type {Element} */ (event.target);
    if (event.key === "Escape" && target.matches("section, li")) this.close();
  }

  /** The others who are here. */
  #here() {
    const names = new Set(this.topic.present.value.map((one) => one.user).filter((name) => name !== user.value?.name));
    if (names.size === 0) return "";
    return html`<span class="gap"></span><span class="people" role="group" aria-label=${text().whoIsHere}>${keyed(names, (name) => name, personMark)}</span>`;
  }

  /**
   * @param {Line[]} lines
   * @param {string} list
   * @param {string} label
   * @returns {import("../lib/html.js").Template}
   */
  #list(lines, list, label) {
    const isTop = list === this.topic.loid;
    return html`
      <ol class="lines" data-drawer=${list} aria-label=${label} aria-describedby=${isTop ? "item-help" : null}
        @keydown=${isTop ? (/** @type {KeyboardEvent} */ event) => this.key(event) : null}
        @focusin=${isTop ? (/** @type {FocusEvent} */ event) => this.focused(event) : null}>
        ${keyed(lines, ({ id }) => id, (line) => (line.kind === "divider" ? this.#divider(line, list) : this.#item(line, list)))}
      </ol>`;
  }

  /**
   * @param {Divider} line
   * @param {string} list
   */
  #divider(line, list) {
    return html`
      <li class=${`divider${this.classesOf(list, line.id)}`} data-object=${line.id} tabindex=${line.id === this.reached ? 0 : -1}
        aria-label=${`${text().divider}: ${line.title}`} @pointerdown=${(/** @type {PointerEvent} */ event) => this.press(event)}>
        <span class="grip" aria-hidden="true">${icon("grip")}</span><h3><bdi>${line.title}</bdi></h3>
        ${this.#menuButton(line, list)}
      </li>`;
  }

  /**
   * @param {Item} item
   * @param {string} list
   */
  #item(item, list) {
    const { fields, status, statusColour, attachment } = item;
    const mark = this.topic.marks.value.get(item.id);
    const other = mark && mark.user !== user.value?.name ? mark : null;
    const hand = this.topic.present.value.find((one) => one.part === item.id && one.user !== user.value?.name);
    const kinds = [fields.contentType, fields.occupation, fields.edition, fields.priority && text().priorityIs(fields.priority)].filter(Boolean);
    return html`
      <li class=${`item${other || hand ? " marked" : ""}${this.classesOf(list, item.id)}`} data-object=${item.id}
        tabindex=${item.id === this.reached ? 0 : -1} aria-label=${fields.name}
        @pointerdown=${(/** @type {PointerEvent} */ event) => this.press(event)} @dblclick=${(/** @type {Event} */ event) => this.#opened(event, item)}>
        <div class="row">
          <span class="grip" aria-hidden="true" title=${text().grip(fields.name)}>${icon("grip")}</span>
          <div class="body">
            <p class="name"><bdi>${fields.name}</bdi></p>
            <p class="facts">
              ${status ? marks.status(status, statusColour) : ""}
              ${fields.dueDate === null ? "" : marks.due(fields.dueDate)}
              ${fields.assignees.length > 0 ? marks.people(fields.assignees) : ""}
              ${kinds.length > 0 ? html`<span><bdi>${kinds.join(" · ")}</bdi></span>` : ""}
            </p>
            ${fields.comment ? html`<p class="comment"><bdi>${fields.comment}</bdi></p>` : ""}
            ${attachment === "hidden" ? html`<p class="facts">${text().hiddenAttachment}</p>` : attachment ? html`
              <a class="attached" href=${`#/object/${attachment.id}`} draggable="false">${thumbnail(attachment)}<bdi>${attachment.title}</bdi></a>` : ""}
            ${hand ? html`<p class="hand">${besideName(hand.user)}${hand.field === "position" ? text().isDragged(fullName(hand.user)) : text().isEdited(fullName(hand.user))}</p>` : ""}
            ${other && !hand ? html`<p class="hand">${besideName(other.user)}${fullName(other.user)}: ${text().did[other.kind] ?? ""}</p>` : ""}
          </div>
          ${this.#menuButton(item, list)}
        </div>
        ${item.lines.length > 0 ? this.#list(item.lines, item.id, fields.name) : ""}
      </li>`;
  }

  /**
   * @param {Line} line
   * @param {string} list
   */
  #menuButton(line, list) {
    return html`<button class="plain line-menu" tabindex="-1" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${this.titleOf(line)}`}
      @click=${(/** @type {Event} */ event) => this.#menu(/** @type {Element} */ (event.currentTarget), line, list)}>${icon("more")}</button>`;
  }

  /**
   * @param {Event} event
   * @param {Item} item
   */
  #opened(event, item) {
    const target = /** @type {Element} */ (event.target);
    if (!target.closest("button, a") && target.closest("[data-object]") === event.currentTarget) editItem(this.topic, item);
  }

  /** @override @param {Line} line @param {string} list @param {KeyboardEvent} event @param {HTMLElement} element */
  act(line, list, event, element) {
    const isMenu = event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
    const isItem = line.kind === "item";
    if (isMenu || (event.key === "Enter" && !isItem)) this.#menu(/** @type {Element} */ (element.querySelector(".line-menu")), line, list);
    else if (event.key === "Enter" && isItem) editItem(this.topic, line);
    else if (event.key === "F2") isItem ? editItem(this.topic, line) : this.#rename(line, list);
    else if (event.key === "Delete") this.#remove(line, list);
    else if (event.key === "ArrowLeft" && event.altKey && isItem && line.parent) this.#promote(line);
    else return false;
    return true;
  }

  /**
   * Makes a subitem an item, behind the one that it belongs to.
   * @param {Item} item
   */
  #promote(item) {
    const at = this.topic.lines.now.findIndex(({ id }) => id === item.parent);
    void this.moveLine(item, item.parent, this.topic.loid, at + 1);
  }

  /**
   * @param {Element} button
   * @param {Line} line
   * @param {string} list
   */
  #menu(button, line, list) {
    const { topic } = this;
    if (line.kind === "divider") {
      return openMenu(button, [
        { label: text().rename, act: () => this.#rename(line, list) }, null, ...this.moves(line, list), null,
        { label: text().removeDivider, act: () => this.#remove(line, list), isRisky: true },
      ], this.titleOf(line));
    }
    const { database } = topic.info.now;
    openMenu(button, [
      { label: text().edit, act: () => editItem(topic, line) },
      { label: text().changeStatusMenu, act: () => void openStatusMenu(button, { ...line, title: line.fields.name, database }, (status) => topic.setStatus(line.id, status)), isOff: !line.workflow },
      { label: text().attach, act: () => this.#attach(line) },
      ...(line.attachment ? [{ label: text().detach, act: () => void topic.changeItem(line, { attachment: null }).catch(notifyFault) }] : []),
      null,
      ...(line.parent ? [{ label: text().makeItem, act: () => this.#promote(line) }] : [
        { label: text().newSubitem, act: () => makeItem(topic, line.id, (item) => this.focusOn(item)) },
        { label: text().newDivider, act: () => this.#makeDivider(line.id) },
      ]),
      ...this.moves(line, list),
      { label: text().toOtherTopic, act: () => this.#moveAway(line), isOff: this.others().length === 0 },
      null,
      { label: text().removeItem, act: () => this.#remove(line, list), isRisky: true },
    ], line.fields.name);
  }

  /** @param {Element} button */
  #topicMenu(button) {
    const { topic } = this;
    openMenu(button, [
      { label: text().editTopic, act: () => editTopic(topic) },
      { label: text().calendar, act: () => openCalendar("topic", topic.loid, topic.info.now.title, [topic.info.now.folder]) },
      { label: text().copyAddress, act: () => void copy(topic.loid) },
    ], topic.info.now.title);
  }

  /** @param {SubmitEvent} event */
  async #add(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const input = /** @type {HTMLInputElement} */ (form.elements.namedItem("name"));
    const name = input.value.trim();
    if (!name) return;
    this.#isBusy.value = true;
    try {
      await this.topic.addItem("", { name });
      // What was typed during the call stays.
      if (input.value.trim() === name) input.value = "";
      say(text().itemAdded(name));
    } catch (error) {
      notifyFault(error);
    } finally {
      this.#isBusy.value = false;
    }
  }

  /** @param {Item} item */
  #attach(item) {
    const pick = (/** @type {string} */ source) => this.topic.attach(item, source);
    openPicker({ title: text().attach, hint: text().attachHint(item.fields.name), verb: text().attachVerb, families: "", pick });
  }

  /** @param {Item} item */
  #moveAway(item) {
    const fields = html`<label>${text().topic}<select name="topic">${this.others().map(({ id, title }) => html`<option value=${id}>${title}</option>`)}</select></label>`;
    ask(text().toOtherTopic, fields, text().move, ({ topic }) => {
      this.leave(item.id);
      return this.topic.moveInto(item, topic, -1).then(() => {}, explain);
    });
  }

  /**
   * @param {Line} line
   * @param {string} list
   */
  #remove(line, list) {
    const { topic } = this;
    const parent = this.#parent(list);
    if (line.kind === "divider") {
      const at = this.linesOf(list).findIndex(({ id }) => id === line.id);
      const removed = topic.removeDivider(line, parent);
      this.leave(line.id);
      const again = () => void topic.addDivider(parent, line.title, at).catch(notifyFault);
      return void removed.then(() => notify(text().tookOut(this.titleOf(line)), { label: text().bringBack, act: again }), notifyFault);
    }
    const fields = html`<p>${line.lines.length > 0 ? text().removeItemHintAll : text().removeItemHint}</p>`;
    ask(text().removeItemSure(line.fields.name), fields, text().removeItem.replace(/\s*…$/, ""), async () => {
      try {
        await topic.removeItem(line);
        this.leave(line.id);
      } catch (error) {
        return explain(error);
      }
    });
  }

  /**
   * @param {Divider} divider
   * @param {string} list
   */
  #rename(divider, list) {
    const fields = html`<label>${text().heading}<input name="title" maxlength="250" .value=${divider.title} autofocus></label>`;
    ask(text().rename, fields, text().save, ({ title }) => this.topic.renameDivider(divider, this.#parent(list), title).then(() => {}, explain));
  }

  /** @param {string} parent */
  #makeDivider(parent) {
    const fields = html`<label>${text().heading}<input name="title" maxlength="250" required autofocus></label>`;
    ask(text().newDivider, fields, text().create, ({ title }) => this.topic.addDivider(parent, title).then(() => {}, explain));
  }
}

customElements.define("topic-pane", TopicPane);
