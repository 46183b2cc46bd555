// The page on which the interface can be tried: all operations by their subject, and the form of one.

import { partsOfAddress } from "../api/calls.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { explain, text } from "../text/index.js";
import { readInterface } from "./document.js";
import "./operation.js";

/** @typedef {import("./document.js").Interface} Interface */
/** @typedef {import("./document.js").Operation} Operation */

class ApiPage extends View {
  /** @type {Signal<Interface | null>} */
  #interface = new Signal(/** @type {Interface | null} */ (null));
  #fault = new Signal("");
  #words = new Signal("");
  #chosen = new Signal(partsOfAddress()[1]);

  begin() {
    const follow = () => {
      const [page, shown] = partsOfAddress();
      if (page === "api") this.#chosen.value = shown;
    };
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    readInterface().then((read) => this.#show(read), (error) => (this.#fault.value = explain(error)));
  }

  /** @param {Interface} read */
  #show(read) {
    this.#interface.value = read;
    requestAnimationFrame(() => this.querySelector(".operations [aria-current]")?.scrollIntoView({ block: "center" }));
  }

  template() {
    const t = text().api;
    const read = this.#interface.value;
    const operation = read?.operations.find(({ id }) => id === this.#chosen.value);
    return html`
      <div class=${operation ? "api chosen" : "api"}>
        <nav class="operations" aria-label=${t.operations}>
          <h1>${t.title}</h1>
          <input type="search" aria-label=${t.find} placeholder=${t.find} @input=${(/** @type {Event} */ event) => (this.#words.value = /** @type {HTMLInputElement} */ (event.target).value)}>
          <p class="fault" role="alert">${this.#fault.value}</p>
          ${read ? this.#list(read, operation) : ""}
        </nav>
        <div class="try">${operation ? keyed([operation], ({ id }) => id, (one) => html`<api-operation .operation=${one}></api-operation>`) : read ? html`
          <div class="nothing"><p><b>${t.choose}</b></p><p>${t.chooseHint(read.operations.length)}</p></div>` : ""}</div>
      </div>`;
  }

  /**
   * @param {Interface} read
   * @param {Operation | undefined} chosen
   */
  #list({ tags, operations }, chosen) {
    const t = text().api;
    const words = this.#words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = operations.filter((one) => words.every((word) => wordsOf(one).includes(word)));
    if (found.length === 0) return html`<p class="hint">${t.none}</p>`;
    const shown = tags.map((tag) => ({ tag, list: found.filter((one) => one.tag === tag.name) })).filter(({ list }) => list.length > 0);
    return keyed(shown, ({ tag }) => tag.name, ({ tag, list }) => html`
      <details ?open=${words.length > 0 || chosen?.tag === tag.name}>
        <summary title=${tag.description}>${tag.name}<small>${list.length}</small></summary>
        <ul>${keyed(list, ({ id }) => id, (one) => html`
          <li><a href=${`#/api/${one.id}`} data-operation=${one.id} aria-current=${one === chosen ? "page" : null}>
            <span class=${`method ${one.method}`}>${one.method}</span><span class="path">${one.path}</span><small>${one.summary.replaceAll("`", "")}</small></a></li>`)}</ul>
      </details>`);
  }
}

/** What an operation is found by. @param {Operation} operation */
const wordsOf = ({ id, method, path, summary, tag }) => `${id} ${method} ${path} ${summary} ${tag}`.toLowerCase();

customElements.define("api-page", ApiPage);
