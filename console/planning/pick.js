// A dialog in which an object is chosen.

import { html, render } from "../lib/html.js";
import { text } from "../text/index.js";
import "../find/picker.js";

/**
 * Opens the dialog. It stays with its input while `pick` fails.
 * @param {{ title: string, hint: string, verb: string, families: string, pick: (source: string) => Promise<unknown> }} what
 *   The families are comma-separated, empty for all. `pick` is called with a loid, uuid or path.
 */
export function openPicker({ title, hint, verb, families, pick }) {
  // The box has a form of its own, and a form can't lie in that of a question.
  const dialog = document.createElement("dialog");
  dialog.className = "picking";
  dialog.ariaLabel = title;
  const done = (/** @type {string} */ source) => pick(source).then(() => dialog.close());
  render(html`<h2>${title}</h2><p class="hint">${hint}</p>
    <object-picker .label=${title} .families=${families} .verb=${verb} .pick=${done}></object-picker>
    <footer><button class="plain" @click=${() => dialog.close()}>${text().cancel}</button></footer>`, dialog);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
