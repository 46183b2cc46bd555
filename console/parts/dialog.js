// Questions in a dialog.

import { html, render } from "../lib/html.js";
import { text } from "../text/index.js";

/**
 * Opens a dialog with a form. The form's content has the fields; it ends when it is sent, and stays with its input when
 * `send` fails.
 * @param {string} title
 * @param {unknown} fields
 * @param {string} label Of the button that sends it.
 * @param {(values: Record<string, string>) => Promise<string | void>} send Returns what is wrong, if anything.
 */
export function ask(title, fields, label, send) {
  const dialog = document.createElement("dialog");
  const name = `dialog-${Date.now()}`;
  dialog.setAttribute("aria-labelledby", name);
  const show = (/** @type {string} */ fault, /** @type {boolean} */ isBusy) =>
    render(
      html`
        <form method="dialog" @submit=${submit}>
          <h2 id=${name}>${title}</h2>
          ${fields}
          <p class="fault" role="alert">${fault}</p>
          <footer>
            <button type="button" class="plain" @click=${() => dialog.close()}>${text().cancel}</button>
            <button class="primary" ?disabled=${isBusy}>${label}</button>
          </footer>
        </form>`,
      dialog,
    );
  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    show("", true);
    const fault = await send(Object.fromEntries([...form].map(([key, value]) => [key, String(value)])));
    if (fault) show(fault, false);
    else dialog.close();
  }
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  show("", false);
  dialog.showModal();
}
