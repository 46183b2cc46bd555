// The page of a folder: what lies in it, sorted and filtered, and files that are dropped into it.

import { call, partsOfAddress } from "../api/calls.js";
import { fullName } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { thumbnail } from "../parts/card.js";
import { addressOf, openPage } from "../parts/entry.js";
import { openMenu } from "../parts/menu.js";
import { copy, notify, notifyFault } from "../parts/notices.js";
import { icon } from "../parts/signs.js";
import { ago, explain, moment, text } from "../text/index.js";
import { Folder, SORTS } from "./folder.js";
import { again, clearUploads, upload, uploads } from "./uploads.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */
/** @typedef {typeof SORTS[number]} Column */

/** The form of a loid. */
const LOID = /^\d+\$\d+\.\d+\.\d+$/;

/** Where the browser keeps the columns that are shown. */
const KEPT = "stet.columns";

class FilesPage extends View {
  /** @type {Signal<Folder | null>} */
  #folder = new Signal(/** @type {Folder | null} */ (null));
  /** @type {Signal<Column[]>} */
  #columns = new Signal(keptColumns());
  #isTarget = new Signal(false);

  begin() {
    const follow = () => this.#open().catch(notifyFault);
    addEventListener("hashchange", follow);
    this.during(() => removeEventListener("hashchange", follow));
    this.during(() => this.#folder.now?.close());
    this.#open().catch(notifyFault);
  }

  async #open() {
    const [page, source] = partsOfAddress();
    if (page !== "files") return;
    const loid = LOID.test(source) ? source : await loidOf(source);
    if (!this.isConnected || this.#folder.now?.loid === loid) return;
    this.#folder.now?.close();
    const folder = new Folder(loid);
    this.#folder.value = folder;
    folder.open();
  }

  template() {
    const folder = this.#folder.value;
    if (!folder) return "";
    const entries = folder.entries.value;
    const isEmpty = entries.length === 0 && folder.state.value === "there";
    return html`
      <div class=${this.#isTarget.value ? "files target" : "files"}
        @dragover=${(/** @type {DragEvent} */ event) => this.#over(event)} @dragleave=${() => (this.#isTarget.value = false)}
        @drop=${(/** @type {DragEvent} */ event) => this.#drop(event, folder)}>
        <div class="toolbar">
          <h1 class="unseen">${text().files}</h1>
          ${this.#crumbs(folder)}
          <span class="gap"></span>
          <input type="search" class="filter" aria-label=${text().filterNames} placeholder=${text().filterNames} .value=${folder.filter.value}
            @input=${(/** @type {Event} */ event) => folder.filterBy(/** @type {HTMLInputElement} */ (event.target).value)}>
          <button @click=${() => void this.#makeFolder(folder).catch(notifyFault)}>${icon("folder")}${text().newFolder}</button>
          <label class="file">${icon("add")}<span>${text().uploadFiles}</span>
            <input type="file" multiple @change=${(/** @type {Event} */ event) => this.#chosen(event, folder)}></label>
          <button class="plain" aria-haspopup="menu" @click=${(/** @type {Event} */ event) => this.#columnMenu(event)}>${text().columns}</button>
        </div>
        <div class="listing">
          ${folder.state.value === "gone" ? html`<div class="nothing"><p>${text().folderGone}</p></div>` : ""}
          ${isEmpty ? html`<div class="nothing"><p><b>${folder.filter.value ? text().noMatches : text().emptyFolder}</b></p><p>${text().dropHere}</p></div>` : ""}
          ${entries.length > 0 ? this.#table(folder, entries) : ""}
          ${folder.total.value > entries.length && entries.length > 0 ? html`<button class="more" @click=${() => folder.readMore()}>${text().showMore}</button>` : ""}
        </div>
        ${this.#uploads()}
      </div>`;
  }

  /**
   * The folders above.
   * @param {Folder} folder
   */
  #crumbs(folder) {
    const names = folder.path.value.split("/").filter(Boolean);
    const paths = names.map((_, index) => `/${names.slice(0, index + 1).join("/")}`);
    return html`
      <nav class="crumbs" aria-label=${text().files}>
        <a href="#/files">/</a>
        ${paths.map((path, index) => html`<a href=${`#/files/${encodeURIComponent(path)}`} aria-current=${index === paths.length - 1 ? "location" : null}>${names[index]}</a>`)}
      </nav>`;
  }

  /**
   * @param {Folder} folder
   * @param {Entry[]} entries
   */
  #table(folder, entries) {
    const columns = this.#columns.value;
    const { by, isDown } = folder.sort.value;
    return html`
      <table>
        <caption class="unseen">${folder.path.value}: ${text().objects(folder.total.value)}</caption>
        <thead><tr>
          ${columns.map((column) => html`
            <th scope="col" aria-sort=${by !== column ? "none" : isDown ? "descending" : "ascending"}>
              <button class="plain" @click=${() => folder.sortBy(column)}>${text().columnNames[column]}${by === column ? (isDown ? " ↓" : " ↑") : ""}</button></th>`)}
          <td></td>
        </tr></thead>
        <tbody @keydown=${(/** @type {KeyboardEvent} */ event) => this.#key(event, folder)}>
          ${keyed(entries, ({ id }) => id, (entry) => html`
            <tr class=${folder.marks.value.has(entry.id) ? "marked" : ""} data-entry=${entry.id} tabindex="0"
              @dblclick=${() => openPage(entry)}>
              ${columns.map((column) => html`<td>${this.#cell(entry, column)}</td>`)}
              <td><button class="plain" aria-haspopup="menu" aria-label=${`${text().moreActions}: ${entry.title}`}
                @click=${(/** @type {Event} */ event) => this.#menu(/** @type {Element} */ (event.currentTarget), folder, entry)}>${icon("more")}</button></td>
            </tr>`)}
        </tbody>
      </table>`;
  }

  /**
   * @param {Entry} entry
   * @param {Column} column
   */
  #cell(entry, column) {
    if (column === "type") return entry.type;
    if (column === "status") return entry.status;
    if (column === "lastModifier") return fullName(entry.modifier);
    if (column === "creator") return fullName(entry.creator);
    if (column === "modified" || column === "created") return html`<time title=${moment(entry[column])}>${ago(entry[column])}</time>`;
    if (column === "issueDate") return entry.issueDate.replace(/^(\d{4})(\d{2})(\d{2})$/, "$1-$2-$3");
    if (column === "version") return entry.version || "";
    const name = html`<a class=${entry.family} href=${addressOf(entry)}>${entry.name}</a>`;
    return html`<span class="named">${thumbnail(entry)}<span>${name}${entry.title === entry.name ? "" : html`<small>${entry.title}</small>`}</span></span>`;
  }

  #uploads() {
    const list = uploads.value;
    if (list.length === 0) return "";
    return html`
      <section class="uploads" aria-label=${text().uploads}>
        <header><h2>${text().uploads}</h2><button class="plain" @click=${clearUploads}>${text().clearList}</button></header>
        <ol>${keyed(list, ({ id }) => id, (one) => html`
          <li class=${one.state}><span>${one.file.name}</span>
            <progress max="1" .value=${one.share} aria-label=${one.file.name}></progress>
            <span>${one.fault ? explain(one.fault) : text().uploadStates[one.state]}</span>
            ${one.state === "failed" ? html`<button @click=${() => again(one)}>${text().retry}</button>` : ""}</li>`)}
        </ol>
      </section>`;
  }

  /** @param {DragEvent} event */
  #over(event) {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.#isTarget.value = true;
  }

  /**
   * @param {DragEvent} event
   * @param {Folder} folder
   */
  #drop(event, folder) {
    event.preventDefault();
    this.#isTarget.value = false;
    upload(event.dataTransfer?.files ?? [], folder.loid);
  }

  /**
   * @param {Event} event
   * @param {Folder} folder
   */
  #chosen(event, folder) {
    const input = /** @type {HTMLInputElement} */ (event.target);
    upload(input.files ?? [], folder.loid);
    input.value = "";
  }

  /**
   * @param {KeyboardEvent} event
   * @param {Folder} folder
   */
  #key(event, folder) {
    if (!(event.target instanceof HTMLTableRowElement)) return;
    const row = event.target;
    const entry = folder.entries.now.find(({ id }) => id === row.dataset.entry);
    const next = event.key === "ArrowDown" ? row.nextElementSibling : event.key === "ArrowUp" ? row.previousElementSibling : null;
    if (next instanceof HTMLElement) next.focus();
    else if (!entry) return;
    else if (event.key === "Enter") openPage(entry);
    else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) this.#menu(/** @type {Element} */ (row.querySelector("button")), folder, entry);
    else if (event.key === "F2") this.#rename(folder, entry).catch(notifyFault);
    else if (event.key === "Delete") this.#discard(folder, entry);
    else return;
    event.preventDefault();
  }

  /**
   * @param {Element} button
   * @param {Folder} folder
   * @param {Entry} entry
   */
  #menu(button, folder, entry) {
    openMenu(button, [
      { label: text().open, act: () => openPage(entry) },
      { label: text().rename, act: () => void this.#rename(folder, entry).catch(notifyFault) },
      { label: text().moveObject, act: () => void this.#move(folder, entry).catch(notifyFault) },
      { label: text().copyAddress, act: () => void copy(entry.id) },
      null,
      { label: text().discard, act: () => void this.#discard(folder, entry), isRisky: true },
    ], entry.title);
  }

  /** @param {Event} event */
  #columnMenu(event) {
    const shown = this.#columns.now;
    const toggle = (/** @type {Column} */ column) => () => {
      this.#columns.value = SORTS.filter((one) => (one === column) !== shown.includes(one));
      localStorage.setItem(KEPT, this.#columns.now.join());
    };
    const others = SORTS.filter((column) => column !== "name");
    openMenu(/** @type {Element} */ (event.currentTarget), others.map((column) => ({
      label: (shown.includes(column) ? "✓ " : "") + text().columnNames[column],
      act: toggle(column),
    })), text().columns);
  }

  /** @param {Folder} folder */
  async #makeFolder(folder) {
    const { ask } = await import("../parts/dialog.js");
    const fields = html`<label>${text().folderName}<input name="name" maxlength="255" required autofocus></label>`;
    ask(text().newFolder, fields, text().create, ({ name }) => folder.makeFolder(name).then(() => {}, explain));
  }

  /**
   * @param {Folder} folder
   * @param {Entry} entry
   */
  async #rename(folder, entry) {
    const { ask } = await import("../parts/dialog.js");
    const fields = html`<label>${text().newName}<input name="name" maxlength="255" .value=${entry.name} required autofocus></label>`;
    ask(text().rename, fields, text().save, ({ name }) => folder.rename(entry, name).then(() => {}, explain));
  }

  /**
   * @param {Folder} folder
   * @param {Entry} entry
   */
  async #move(folder, entry) {
    const { chooseFolder } = await import("../find/choose-folder.js");
    chooseFolder(text().moveTitled(entry.title), (target) => folder.moveTo(entry, target), folder.path.now);
  }

  /**
   * @param {Folder} folder
   * @param {Entry} entry
   */
  async #discard(folder, entry) {
    try {
      await folder.discard(entry);
      notify(text().wasDiscarded(entry.title), {
        label: text().bringBack,
        act: () => void folder.restore(entry).catch(notifyFault),
      });
    } catch (error) {
      notifyFault(error);
    }
  }
}

/**
 * The loid of a folder, by which its events name it.
 * @param {string} path Empty for the root.
 * @returns {Promise<string>}
 */
async function loidOf(path) {
  const query = { limit: 0 };
  const { result } = await (path
    ? call("GET", "v3/folder/{path}", { parts: { path }, query })
    : call("GET", "v3/folder/root", { query }));
  return result.info.id;
}

/** The columns that are shown until others are chosen. @type {Column[]} */
const FIRST = ["name", "type", "status", "modified", "lastModifier"];

/** @returns {Column[]} */
function keptColumns() {
  const kept = localStorage.getItem(KEPT)?.split(",");
  return SORTS.filter((column) => column === "name" || (kept ? kept.includes(column) : FIRST.includes(column)));
}

customElements.define("files-page", FilesPage);
