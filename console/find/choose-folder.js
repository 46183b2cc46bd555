// The choice of a folder in a dialog: found by its name, pasted, or by walking through the folders.

import { call } from "../api/calls.js";
import { html, render } from "../lib/html.js";
import { notifyFault } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { explain, text } from "../text/index.js";
import "./picker.js";

/** The number of subfolders that are listed. Others are found by their names. */
const MOST = 200;

/**
 * Asks for a folder.
 * @param {string} title
 * @param {(folder: string) => Promise<unknown>} choose Called with its loid. The dialog stays if it fails.
 * @param {string} [first] The folder with which it begins: a loid, uuid or path.
 */
export function chooseFolder(title, choose, first = "/") {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", title);
  let place = { id: "", path: "/" };
  /** @type {{ id: string, name: string }[]} */
  let below = [];
  let fault = "";
  const show = () => render(html`
    <h2>${title}</h2>
    <object-picker .label=${text().targetFolder} .verb=${text().open} .families=${"folder"} .pick=${walk}></object-picker>
    <p class="place">${icon("folder")}<b>${place.path}</b></p>
    <ul class="folders" data-scrolls aria-label=${place.path}>
      ${place.path === "/" ? "" : html`<li><button class="plain" @click=${() => go(parentOf(place.path))}>${text().folderAbove}</button></li>`}
      ${below.map(({ id, name }) => html`<li><button class="plain" @click=${() => go(id)}>${icon("folder")}${name}</button></li>`)}
    </ul>
    <p class="fault" role="alert">${fault}</p>
    <footer>
      <button class="plain" @click=${() => dialog.close()}>${text().cancel}</button>
      <button class="primary" ?disabled=${place.id === ""} @click=${send}>${text().chooseThis}</button>
    </footer>`, dialog);
  /** @param {string} folder */
  async function walk(folder) {
    [place, below] = await readFolder(folder);
    fault = "";
    show();
  }
  const go = (/** @type {string} */ folder) => void walk(folder).catch(notifyFault);
  async function send() {
    try {
      await choose(place.id);
      dialog.close();
    } catch (error) {
      fault = explain(error);
      show();
    }
  }
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  show();
  dialog.showModal();
  go(first);
}

/**
 * @param {string} folder
 * @returns {Promise<[{ id: string, path: string }, { id: string, name: string }[]]>}
 */
async function readFolder(folder) {
  const query = { family: "folder", limit: MOST, showPath: true, showAttributes: false, showSystemAttributes: false, sortBy: "name" };
  const { result } = await call("GET", "v3/folder/{folder}", { parts: { folder }, query });
  return [{ id: result.info.id, path: result.info.path }, result.items];
}

/** @param {string} path */
const parentOf = (path) => path.replace(/\/[^/]*$/, "") || "/";
