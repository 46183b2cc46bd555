// One operation: a form for what it takes, and the reply to a call that was tried.

import { SERVER, errorOf, sessionEnded } from "../api/calls.js";
import { user } from "../api/people.js";
import { sendBounded } from "../api/raw.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { ask } from "../parts/dialog.js";
import { copy } from "../parts/notices.js";
import { explain, text } from "../text/index.js";
import { exampleOf, fieldsOf, isFile, resolved, typeOf } from "./document.js";
import { replyView } from "./reply.js";
import { addressOf, curlOf, initOf } from "./request.js";

/** @typedef {import("./document.js").Operation} Operation */
/** @typedef {import("./document.js").Parameter} Parameter */
/** @typedef {import("./document.js").Schema} Schema */

/** The most bytes of a reply that are read. */
const MOST_BYTES = 4 << 20;

/** The parameters that need not be asked for, beyond which they are folded away. */
const SHOWN = 6;

/** Paths of operations that take something away, whatever their method. */
const RISKY = /logout|discard|destroy|delete|remove|clear|unlock/;

/** What was typed, by person, operation and field, so that it is there again after a look at another one. @type {Map<string, string>} */
const typed = new Map();

class ApiOperation extends View {
  /** @type {Operation} */
  operation = /** @type {any} */ (null);
  /** The media type of the body. */
  #type = new Signal("");
  #isBusy = new Signal(false);
  #fault = new Signal("");
  /** @type {Signal<import("../api/raw.js").BoundedReply | null>} */
  #reply = new Signal(/** @type {import("../api/raw.js").BoundedReply | null} */ (null));
  #curl = new Signal("");
  #running = new AbortController();

  begin() {
    this.#type.value = this.operation.bodies[0]?.type ?? "";
    this.during(() => this.#running.abort());
    requestAnimationFrame(() => (this.#describe(), this.querySelector("h2")?.focus()));
  }

  template() {
    const t = text().api;
    const { id, method, path, summary, description, source, parameters } = this.operation;
    const further = parameters.filter((one) => one.in === "query" && !one.required);
    const headers = parameters.filter((one) => one.in === "header");
    return html`
      <a class="back" href="#/api">${t.all}</a>
      <article @input=${(/** @type {Event} */ event) => this.#typed(event)}>
        <p class="address"><span class=${`method ${method}`}>${method}</span><code>${path}</code></p>
        <h2 tabindex="-1">${summary}</h2>
        <p class="description">${words(told(summary, description))}</p>
        <p class="hint"><code>${id}</code>${source ? html` ·
          <a href=${new URL(source, SERVER).href} target="_blank" rel="noopener">${t.rules}</a>` : ""}</p>
        <form @submit=${(/** @type {Event} */ event) => this.#submit(event)}>
          <div class="fields">${parameters.filter((one) => one.in === "path" || (one.in === "query" && one.required)).map((one) => html`${this.#field(one)}`)}</div>
          ${this.#more(t.further(further.length), further, further.length <= SHOWN)}
          ${this.#body()}
          ${this.#more(t.headers, headers, false)}
          <p class="fault" role="alert">${this.#fault.value}</p>
          <footer><button class="primary" ?disabled=${this.#isBusy.value}>${t.send}</button>
            ${this.#isBusy.value ? html`<button type="button" @click=${() => this.#running.abort()}>${t.stop}</button>` : ""}</footer>
        </form>
        <section aria-label="curl" class="curl"><pre tabindex="0">${this.#curl.value}</pre>
          <button @click=${() => void copy(this.#curl.now, t.curlCopied)}>${text().admin.copySecret}</button></section>
        <div role="status">${this.#reply.value ? replyView(this.#reply.value) : ""}</div>
      </article>`;
  }

  /**
   * @param {string} label
   * @param {Parameter[]} parameters
   * @param {boolean} isOpen
   */
  #more(label, parameters, isOpen) {
    if (parameters.length === 0) return "";
    return html`<details ?open=${isOpen}><summary>${label}</summary><div class="fields">${parameters.map((one) => html`${this.#field(one)}`)}</div></details>`;
  }

  /** The name of a parameter's field. @param {Parameter} parameter */
  #nameOf = ({ in: place, name }) => `${place}:${name}`;

  /** @param {Parameter} parameter */
  #field(parameter) {
    const { name, description = "", schema, required } = parameter;
    const field = this.#nameOf(parameter);
    const value = this.#kept(field) ?? "";
    const choices = choicesOf(schema);
    const preset = resolved(schema).default;
    return html`
      <label><span><b>${name}</b>${required ? " *" : ""} <i>${typeOf(schema)}</i></span>
        ${choices ? html`<select name=${field}><option value=""></option>${choices.map((one) => html`<option value=${one} ?selected=${one === value}>${one}</option>`)}</select>` : html`
          <input name=${field} value=${value} ?required=${required} autocomplete="off" spellcheck="false"
            inputmode=${typeOf(schema) === "integer" ? "numeric" : null} placeholder=${preset === undefined ? "" : String(preset)}>`}
        <small>${words(description)}</small></label>`;
  }

  #body() {
    const t = text().api;
    const { bodies, isBodyRequired } = this.operation;
    const body = bodies.find(({ type }) => type === this.#type.value);
    if (!body) return "";
    return html`
      <fieldset><legend>${t.body}${isBodyRequired ? " *" : ""}</legend>
        ${bodies.length > 1 ? html`<label>${t.mediaType}<select @change=${(/** @type {Event} */ event) => (this.#type.value = /** @type {HTMLSelectElement} */ (event.target).value)}>
          ${bodies.map(({ type }) => html`<option value=${type}>${type}</option>`)}</select></label>` : html`<p class="hint">${body.type}</p>`}
        ${keyed([body], ({ type }) => type, () => html`${this.#content(body)}`)}
      </fieldset>`;
  }

  /** @param {Operation["bodies"][number]} body */
  #content({ type, schema, example }) {
    if (type === "multipart/form-data") {
      return html`${Object.entries(resolved(schema).properties ?? {}).map(([name, one]) => html`${this.#part(name, /** @type {Schema} */ (one))}`)}`;
    }
    if (isFile(schema)) return html`<label>${text().api.file}<input type="file" name="file"></label>`;
    return this.#source("body", schema, example, type.includes("json"));
  }

  /**
   * One part of a form.
   * @param {string} name
   * @param {Schema} schema
   */
  #part(name, schema) {
    const { items } = resolved(schema);
    if (isFile(schema) || (items && isFile(items))) {
      return html`<label><b>${name}</b><input type="file" name=${`file:${name}`} ?multiple=${Boolean(items)}></label>`;
    }
    return this.#source(`part:${name}`, schema, undefined, true);
  }

  /**
   * A text with JSON, or a form as a text, and the fields that it may have.
   * @param {string} field
   * @param {Schema} schema
   * @param {unknown} example
   * @param {boolean} isJson
   */
  #source(field, schema, example, isJson) {
    const t = text().api;
    const fields = fieldsOf(schema);
    const first = (/** @type {boolean} */ isFull) => written(example !== undefined && !isFull ? example : exampleOf(schema, isFull), isJson);
    // An optional body without a known form begins empty.
    const begun = fields.length === 0 && example === undefined ? "" : first(false);
    return html`
      <label>${field.replace(/^part:/, "")}<textarea name=${field} spellcheck="false" class="json" .value=${this.#kept(field) ?? begun}></textarea></label>
      ${fields.length > 0 ? html`
        <button type="button" @click=${() => this.#fill(field, first(true))}>${t.allFields}</button>
        <details><summary>${t.fields(fields.length)}</summary>
          <dl class="schema">${fields.map((one) => html`<div><dt><code>${one.name}</code>${one.isRequired ? " *" : ""} <i>${one.type}</i></dt><dd>${words(one.description)}</dd></div>`)}</dl></details>` : ""}`;
  }

  /**
   * @param {string} field
   * @param {string} value
   */
  #fill(field, value) {
    const area = /** @type {HTMLTextAreaElement | null} */ (this.querySelector(`textarea[name="${CSS.escape(field)}"]`));
    if (!area) return;
    area.value = value;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    area.focus();
  }

  /** @param {string} field */
  #keyOf = (field) => `${user.now?.name}/${this.operation.id} ${field}`;

  /** What was typed before, if anything. @param {string} field */
  #kept(field) {
    return typed.get(this.#keyOf(field));
  }

  /** @param {Event} event */
  #typed(event) {
    const { name, value, type } = /** @type {HTMLInputElement} */ (event.target);
    if (name && type !== "file") typed.set(this.#keyOf(name), value);
    this.#describe();
  }

  /** @returns {import("./request.js").Request} */
  #request() {
    const form = new FormData(/** @type {HTMLFormElement} */ (this.querySelector("form")));
    const { operation } = this;
    const value = (/** @type {string} */ place, /** @type {string} */ name) => String(form.get(`${place}:${name}`) ?? "").trim();
    const headers = Object.fromEntries(operation.parameters
      .filter(({ in: place, name }) => place === "header" && value("header", name) !== "")
      .map(({ name }) => [name.toLowerCase(), value("header", name)]));
    const type = this.#type.now;
    const source = String(form.get("body") ?? "");
    const file = form.get("file");
    return {
      method: operation.method,
      url: addressOf(operation, value),
      headers,
      body: source.trim() ? { type, text: source } : null,
      parts: type === "multipart/form-data" ? partsOf(form) : null,
      file: file instanceof File && file.name ? file : null,
    };
  }

  #describe() {
    if (this.querySelector("form")) this.#curl.value = curlOf(this.#request());
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    const { method, path, summary } = this.operation;
    const request = this.#request();
    if (method !== "DELETE" && !RISKY.test(path)) return void this.#send(request);
    const t = text().api;
    ask(t.sure(method), html`<p>${summary}</p><p class="hint"><code>${decodeURI(request.url.pathname)}</code></p>`, t.send, async () => void this.#send(request));
  }

  /** @param {import("./request.js").Request} request */
  async #send(request) {
    this.#running = new AbortController();
    this.#isBusy.value = true;
    this.#fault.value = "";
    this.#reply.value = null;
    try {
      const reply = await sendBounded(request.url, { ...initOf(request), signal: this.#running.signal }, MOST_BYTES);
      this.#reply.value = reply;
      const fault = reply.status === 401 ? errorOf(401, new TextDecoder().decode(reply.bytes)) : null;
      // A login that was refused ends no session.
      if (fault?.code === "InvalidToken") sessionEnded(fault);
    } catch (error) {
      this.#fault.value = this.#running.signal.aborted ? text().api.stopped : explain(error);
    } finally {
      this.#isBusy.value = false;
    }
  }
}

/**
 * The parts of a form that have something in them.
 * @param {FormData} form
 */
function partsOf(form) {
  const names = [...new Set([...form.keys()])];
  const texts = names.filter((name) => name.startsWith("part:") && String(form.get(name)).trim());
  const files = names.filter((name) => name.startsWith("file:")).map((name) => ({
    name: name.slice(5),
    files: /** @type {File[]} */ (form.getAll(name)).filter((one) => one.name),
  }));
  return [...texts.map((name) => ({ name: name.slice(5), text: String(form.get(name)) })), ...files.filter((one) => one.files.length > 0)];
}

/**
 * The values from which one is chosen; null if any may be typed.
 * @param {Schema} schema
 * @returns {string[] | null}
 */
function choicesOf(schema) {
  const one = resolved(schema);
  if (one.enum) return one.enum.map(String);
  return typeOf(one) === "boolean" ? ["true", "false"] : null;
}

/**
 * An example as it is typed.
 * @param {unknown} example
 * @param {boolean} isJson
 */
function written(example, isJson) {
  if (isJson) return JSON.stringify(example, null, 2);
  const texts = Object.entries(example ?? {}).filter(([, value]) => typeof value !== "object");
  return new URLSearchParams(texts.map(([name, value]) => [name, String(value)])).toString();
}

/**
 * What a description says beside the summary that it begins with, and the link to the rules that it ends with.
 * @param {string} summary
 * @param {string} description
 */
const told = (summary, description) => description.replace(summary, "").replace(/\s*Rules: .*$/s, "").trim();

/**
 * A text of the description, with its code as such.
 * @param {string} description
 */
const words = (description) => description.split("`").map((part, at) => (at % 2 ? html`<code>${part}</code>` : html`${part}`));

customElements.define("api-operation", ApiOperation);
