// The attributes of an object as a form. What somebody else changes meanwhile is shown, and replaces nothing.

import { CallError } from "../api/calls.js";
import { fullName, user } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { draftOf, keepDraft } from "../parts/drafts.js";
import { notify, notifyFault } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { explain, text } from "../text/index.js";
import { attributesOf, fieldsOf, isMixed, list, operatorOf, readDefinition, readTree, stored } from "./fields.js";

/** @typedef {import("./fields.js").Field} Field */
/** @typedef {import("./fields.js").Value} Value */
/** @typedef {{ base: Value[], values: Value[] }} Edit The values on the server when somebody began to change them, and now. */

/** The largest number of elements of a field that the form shows. The others stay as they are. */
const MOST = 200;

/** The deepest nesting of groups that the form shows. */
const DEEPEST = 5;

/** The number of values of a tree that are suggested. */
const SUGGESTED = 1000;

/** @param {Value[]} one @param {Value[]} other */
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

const CONTROLS = ":is(textarea, input, select)";

/**
 * @param {Element | null} box
 * @param {string} selector
 */
const focusIn = (box, selector) => /** @type {HTMLElement | null | undefined} */ (box?.querySelector(selector))?.focus();

class AttributesForm extends View {
  /** @type {import("./object.js").OpenObject} */
  object = /** @type {any} */ (undefined);

  /** @type {Signal<import("./fields.js").Definition | null>} */
  #definition = new Signal(/** @type {import("./fields.js").Definition | null} */ (null));
  /** @type {Signal<Map<string, Edit>>} What was changed here, by field. */
  #edits = new Signal(new Map());
  /** @type {Signal<Map<string, string[]>>} The suggested values, by field. */
  #suggestions = new Signal(new Map());
  #fault = new Signal("");
  #isBusy = new Signal(false);
  /** Ends that others are told of a field that is changed here. @type {Map<string, () => void>} */
  #signs = new Map();

  get #draft() {
    return `attributes.${this.object.loid}`;
  }

  begin() {
    this.#edits.value = editsOf(draftOf(this.#draft)?.text);
    readDefinition(this.object.loid).then((definition) => (this.#definition.value = definition), notifyFault);
    this.during(() => this.#endSigns());
  }

  /** Whether something was changed that is not saved. */
  get isDirty() {
    return this.#edits.now.size > 0;
  }

  template() {
    const definition = this.#definition.value;
    const record = this.object.record.value;
    if (!definition || !record) return "";
    const { root, values } = attributesOf(record, definition);
    const fields = fieldsOf(definition, root, values);
    const edits = this.#edits.value;
    return html`
      <form class="attributes" aria-label=${text().attributes} novalidate
        @submit=${(/** @type {Event} */ event) => (event.preventDefault(), void this.save())}
        @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
        <h2>${text().attributes}</h2>
        ${fields.length === 0 ? html`<p class="hint">${text().noAttributes}</p>` : ""}
        ${keyed(fields, ({ name }) => name, (field) => this.#field(field, list(values[field.name]), edits.get(field.name)))}
        ${this.#fault.value ? html`<p class="fault" role="alert">${this.#fault.value}</p>` : ""}
        ${edits.size > 0 ? html`
          <footer>
            <button class="primary" ?disabled=${this.#isBusy.value}>${text().save}</button>
            <button type="button" class="plain" @click=${() => this.#throwAway()}>${text().throwAway}</button>
            <span class="hint">${text().unsaved(edits.size)}</span>
          </footer>` : ""}
      </form>`;
  }

  /**
   * @param {Field} field
   * @param {Value[]} there The values on the server.
   * @param {Edit | undefined} edit
   */
  #field(field, there, edit) {
    const values = edit?.values ?? there;
    const isOther = edit && !isSame(edit.base, there) && !isSame(edit.values, there);
    const hand = this.object.present.value.find((one) => one.field === field.name && one.user !== user.value?.name);
    const set = (/** @type {Value[]} */ after) => this.#change(field, there, after);
    return html`
      <div class=${edit ? "field edited" : "field"} data-field=${field.name}>
        ${this.#control(field, values, set, field.name, 0)}
        ${hand ? html`<p class="hint hand">${text().isEdited(fullName(hand.user))}</p>` : ""}
        ${isOther ? html`
          <div class="conflict" role="alert">
            <p>${text().fieldChanged(this.#changer(), field.title)}</p>
            <q>${there.map(shown).join(", ") || text().nothingThere}</q>
            <button type="button" @click=${() => this.#take(field)}>${text().takeTheirs}</button>
            <button type="button" @click=${() => this.#keep(field, there)}>${text().keepMine}</button>
          </div>` : ""}
      </div>`;
  }

  /** Who has changed the object last. */
  #changer() {
    return fullName(this.object.record.now.lastModifier);
  }

  /**
   * A field with all of its elements.
   * @param {Field} field
   * @param {Value[]} values
   * @param {(values: Value[]) => void} set
   * @param {string} id
   * @param {number} depth
   */
  #control(field, values, set, id, depth) {
    if (!field.isRepeated) {
      const only = (/** @type {Value} */ value) => set([value]);
      if (field.kind === "group") return this.#group(field, values[0] ?? {}, only, id, depth);
      return html`<label for=${id}>${field.title}</label>${this.#input(field, values[0] ?? "", only, id)}`;
    }
    const visible = values.slice(0, MOST);
    const rest = values.length - visible.length;
    return html`
      <fieldset class="several" aria-labelledby=${`${id}-title`}>
        <legend id=${`${id}-title`}>${field.title}</legend>
        ${visible.map((value, index) => html`
          <div class="one">
            ${field.kind === "group"
              ? this.#group(field, value, (after) => set(values.with(index, after)), `${id}-${index}`, depth)
              : this.#input(field, value, (after) => set(values.with(index, after)), `${id}-${index}`)}
            ${field.isFixed ? "" : html`<button type="button" class="plain" aria-label=${text().removeElement(field.title, index + 1)}
              @click=${(/** @type {Event} */ event) => this.#remove(event, values, index, set)}>${icon("close")}</button>`}
          </div>`)}
        ${rest > 0 ? html`<p class="hint">${text().moreElements(rest)}</p>` : ""}
        ${field.isFixed || rest > 0 ? "" : html`<button type="button" class="plain another" aria-label=${text().addElement(field.title)}
          @click=${(/** @type {Event} */ event) => this.#add(event, field, values, set)}>${icon("add")}${text().add}</button>`}
      </fieldset>`;
  }

  /**
   * An element with children.
   * @param {Field} field
   * @param {Value} value
   * @param {(value: Value) => void} set
   * @param {string} id
   * @param {number} depth
   * @returns {import("../lib/html.js").Template}
   */
  #group(field, value, set, id, depth) {
    const definition = /** @type {import("./fields.js").Definition} */ (this.#definition.now);
    const children = typeof value === "object" ? value : {};
    if (depth >= DEEPEST || isMixed(value)) {
      return html`<fieldset><legend>${field.title}</legend><p class="hint">${text().onlySource}</p></fieldset>`;
    }
    return html`
      <fieldset class="group"><legend>${field.title}</legend>
        ${"#text" in children ? html`<p class="hint">${children["#text"]}</p>` : ""}
        ${fieldsOf(definition, field.name, children).map((child) => html`<div class="field">
          ${this.#control(child, list(children[child.name]), (after) => set({ ...children, [child.name]: stored(after) }), `${id}-${child.name}`, depth + 1)}</div>`)}
      </fieldset>`;
  }

  /**
   * The control of one text.
   * @param {Field} field
   * @param {Value} value
   * @param {(value: string) => void} set
   * @param {string} id
   */
  #input(field, value, set, id) {
    const words = typeof value === "string" ? value : "";
    const label = field.isRepeated ? field.title : null;
    const typed = (/** @type {Event} */ event) => set(/** @type {HTMLInputElement} */ (event.target).value);
    if (field.kind === "choice") {
      const choices = ["", ...field.choices, ...(words === "" || field.choices.includes(words) ? [] : [words])];
      return html`<select id=${id} aria-label=${label} ?disabled=${field.isFixed} @change=${typed}>
        ${choices.map((choice) => html`<option value=${choice} .selected=${choice === words}>${choice || "–"}</option>`)}</select>`;
    }
    if (field.kind === "day") {
      return html`<input id=${id} type="date" aria-label=${label} ?readonly=${field.isFixed} .value=${words} @input=${typed}>`;
    }
    if (field.kind === "tree") {
      const known = this.#suggestions.value.get(field.name) ?? [];
      return html`
        <input id=${id} aria-label=${label} ?readonly=${field.isFixed} list=${`${id}-values`} autocomplete="off" .value=${words}
          @focus=${() => void this.#suggest(field)} @input=${typed}>
        <datalist id=${`${id}-values`}>${known.map((one) => html`<option value=${one}></option>`)}</datalist>`;
    }
    return html`<textarea id=${id} rows="1" aria-label=${label} placeholder=${field.template} ?readonly=${field.isFixed}
      .value=${words} @input=${typed}></textarea>`;
  }

  /** @param {Field} field */
  async #suggest(field) {
    if (this.#suggestions.now.has(field.name)) return;
    const paths = await readTree(field.name);
    const names = field.isLeaf ? [...new Set(paths.map((/** @type {string} */ path) => path.replace(/^.*\//, "")))] : paths;
    this.#suggestions.now.set(field.name, names.slice(0, SUGGESTED));
    this.#suggestions.changed();
  }

  /**
   * @param {Field} field
   * @param {Value[]} there
   * @param {Value[]} after
   */
  #change(field, there, after) {
    const edits = this.#edits.now;
    const base = edits.get(field.name)?.base ?? there;
    if (isSame(base, after)) this.#forget(field.name);
    else edits.set(field.name, { base, values: after });
    if (edits.has(field.name) && !this.#signs.has(field.name)) {
      this.#signs.set(field.name, this.object.edit(this.object.loid, field.name));
    }
    this.#changed();
  }

  /** Shows the edits, and keeps them in the browser. */
  #changed() {
    this.#edits.changed();
    const { now } = this.#edits;
    keepDraft(this.#draft, now.size === 0 ? null : { title: "", text: JSON.stringify([...now]), revision: this.object.revision });
  }

  /** @param {string} name */
  #forget(name) {
    this.#edits.now.delete(name);
    this.#signs.get(name)?.();
    this.#signs.delete(name);
  }

  #endSigns() {
    for (const end of this.#signs.values()) end();
    this.#signs.clear();
  }

  /** @param {Field} field */
  #take(field) {
    this.#forget(field.name);
    this.#changed();
    document.getElementById(field.name)?.focus();
  }

  /**
   * @param {Field} field
   * @param {Value[]} there
   */
  #keep(field, there) {
    const edit = this.#edits.now.get(field.name);
    if (edit) edit.base = there;
    this.#changed();
    document.getElementById(field.name)?.focus();
  }

  #throwAway() {
    for (const name of [...this.#edits.now.keys()]) this.#forget(name);
    this.#fault.value = "";
    this.#changed();
    focusIn(this, CONTROLS);
  }

  /**
   * @param {Event} event
   * @param {Field} field
   * @param {Value[]} values
   * @param {(values: Value[]) => void} set
   */
  #add(event, field, values, set) {
    const box = /** @type {Element} */ (event.currentTarget).parentElement;
    set([...values, field.kind === "group" ? {} : field.first]);
    requestAnimationFrame(() => focusIn(box, `.one:last-of-type ${CONTROLS}`));
  }

  /**
   * @param {Event} event
   * @param {Value[]} values
   * @param {number} index
   * @param {(values: Value[]) => void} set
   */
  #remove(event, values, index, set) {
    const box = /** @type {Element} */ (event.currentTarget).closest("fieldset");
    set(values.toSpliced(index, 1));
    requestAnimationFrame(() => focusIn(box, ".another"));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const isSave = (event.ctrlKey || event.metaKey) && (event.key === "s" || event.key === "Enter");
    const isLine = event.key === "Enter" && !event.shiftKey && event.target instanceof HTMLTextAreaElement;
    if (isSave) void this.save();
    // A line break in a headline is a slip; with Shift it is meant.
    else if (!isLine) return;
    event.preventDefault();
  }

  /** Saves what was changed. Fields that somebody else has changed, too, must be decided before. */
  async save() {
    const definition = this.#definition.now;
    if (!definition || this.#isBusy.now || this.#edits.now.size === 0) return;
    this.#isBusy.value = true;
    this.#fault.value = "";
    const sent = new Map([...this.#edits.now].map(([name, edit]) => [name, { ...edit }]));
    try {
      const { isChanged, warnings } = await this.object.changeFields((record) => {
        const { root, values } = attributesOf(record, definition);
        const isDecided = [...sent].every(([name, { base }]) => isSame(base, list(values[name])));
        if (!isDecided) return null;
        return [...sent].flatMap(([name, { values: after }]) => operatorOf(root, name, list(values[name]), after) ?? []);
      });
      if (isChanged) this.#saved(sent, warnings);
      else this.#fault.value = text().decideFirst;
    } catch (error) {
      if (error instanceof CallError && error.code === "InvalidAttributes") this.#fault.value = error.message;
      else this.#fault.value = explain(error);
    } finally {
      this.#isBusy.value = false;
    }
  }

  /**
   * Forgets the edits that were saved; what was typed since then stays.
   * @param {Map<string, Edit>} sent
   * @param {string[]} warnings
   */
  #saved(sent, warnings) {
    for (const [name, { values }] of sent) {
      const now = this.#edits.now.get(name);
      if (now && isSame(now.values, values)) this.#forget(name);
      else if (now) now.base = values;
    }
    this.#changed();
    notify([text().attributesSaved, ...warnings].join(" "));
  }
}

/**
 * @param {Value} value
 * @returns {string}
 */
const shown = (value) => (typeof value === "string" ? value : Object.values(value).map((one) => list(one).map(shown).join(" ")).join(" "));

/**
 * Edits of an earlier visit.
 * @param {string | undefined} kept
 * @returns {Map<string, Edit>}
 */
function editsOf(kept) {
  try {
    return new Map(JSON.parse(kept ?? "[]"));
  } catch {
    return new Map();
  }
}

customElements.define("attributes-form", AttributesForm);
