// The form by which somebody signs in.

import { CallError } from "../api/calls.js";
import { connections, hasEnded, signIn } from "../api/people.js";
import { Signal, View } from "../lib/view.js";
import { html } from "../lib/html.js";
import { explain, text } from "../text/index.js";

class SignIn extends View {
  #fault = "";
  #isBusy = false;
  /** Those by which somebody can sign in; usually there is one. @type {Signal<{ id: string, name: string }[]>} */
  #connections = new Signal(/** @type {{ id: string, name: string }[]} */ ([]));

  begin() {
    connections().then((found) => (this.#connections.value = found), (error) => this.#tell(faultOf(error)));
    requestAnimationFrame(() => this.querySelector("input")?.focus());
  }

  template() {
    return html`
      <form class="sign-in" @submit=${(/** @type {SubmitEvent} */ event) => this.#submit(event)}>
        <h1 class="wordmark">stet</h1>
        <p class="lead">${hasEnded.value ? text().sessionEnded : text().signInLead}</p>
        ${this.#connections.value.length > 1 ? html`
          <label>${text().connection}<select name="connection">
            ${this.#connections.value.map(({ id, name }) => html`<option value=${id}>${name}</option>`)}</select></label>` : ""}
        <label>${text().user}<input name="username" autocomplete="username" autocapitalize="none" required></label>
        <label>${text().password}<input name="password" type="password" autocomplete="current-password" required></label>
        <p class="fault" role="alert">${this.#fault}</p>
        <button class="primary" ?disabled=${this.#isBusy}>${text().signIn}</button>
        <p class="hint">${text().firstPassword}</p>
      </form>`;
  }

  /** @param {string} fault */
  #tell(fault) {
    this.#fault = fault;
    this.changed();
  }

  /** @param {SubmitEvent} event */
  async #submit(event) {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    this.#isBusy = true;
    this.#tell("");
    try {
      const connection = form.get("connection") ?? (await connections())[0]?.id;
      await signIn(String(connection), String(form.get("username")), String(form.get("password")));
    } catch (error) {
      this.#fault = faultOf(error);
    } finally {
      this.#isBusy = false;
      this.changed();
    }
  }
}

/** @param {unknown} error */
function faultOf(error) {
  // The connection may not be for this application.
  if (error instanceof CallError && error.details.applicationId) return text().failed(error.message);
  if (error instanceof CallError && error.code === "InvalidLogin") return text().wrongLogin;
  if (error instanceof CallError && error.status === 429) return text().tooManyLogins;
  return explain(error);
}

customElements.define("sign-in", SignIn);
