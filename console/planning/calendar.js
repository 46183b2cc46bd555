// The address under which a calendar program finds the items of a plan or topic.

import { CallError, address, call, newKey } from "../api/calls.js";
import { user } from "../api/people.js";
import { html, render } from "../lib/html.js";
import { copy } from "../parts/notices.js";
import { explain, text } from "../text/index.js";

/** The largest number of folders of a key. */
const MOST = 1000;

/**
 * Opens a dialog that offers the address. A calendar program can't sign in, so the address has a key in it, which may
 * read the folders of the topics and nothing else (docs/api/keys.md, "In an address").
 * @param {"topic" | "topicplan"} kind
 * @param {string} loid
 * @param {string} title
 * @param {string[]} folders Those of the plan and of its topics.
 */
export function openCalendar(kind, loid, title, folders) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "calendar-title");
  let key = "";
  let isDenied = false;
  let fault = "";
  let as = "todos";
  const exported = (/** @type {string} */ format, /** @type {Record<string, string | undefined>} */ query) =>
    address("v3/container/{kind}/{loid}/export/{format}", { kind, loid, format }, query).href;
  const show = () => {
    const subscribed = exported("ics", { as: as === "todos" ? undefined : as, key });
    render(html`
      <h2 id="calendar-title">${text().calendarTitle}</h2>
      <p>${text().calendarLead(title)}</p>
      <label>${text().calendarAs}<select @change=${(/** @type {Event} */ event) => ((as = /** @type {HTMLSelectElement} */ (event.target).value), show())}>
        <option value="todos">${text().calendarTodos}</option><option value="events">${text().calendarEvents}</option>
        <option value="todos,events">${text().calendarBoth}</option></select></label>
      ${key || isDenied ? html`
        <label>${text().calendarAddress}<input readonly .value=${subscribed}></label>
        <p class="hint" role="status">${key ? text().calendarSecret : text().calendarDenied}</p>` : ""}
      <p class="fault" role="alert">${fault}</p>
      <p class="exports"><a href=${exported("ics", {})} download>${text().calendarFile}</a> <a href=${exported("csv", {})} download>${text().tableFile}</a></p>
      <footer>
        <button class="plain" @click=${() => dialog.close()}>${text().close}</button>
        ${key || isDenied ? html`<button class="primary" @click=${() => void copy(subscribed)}>${text().copyAddress}</button>`
          : html`<button class="primary" @click=${() => void makeKey()}>${text().calendarMakeKey}</button>`}
      </footer>`, dialog);
  };
  const makeKey = async () => {
    fault = "";
    try {
      const privileges = [...new Set(folders.filter(Boolean))].slice(0, MOST).map((folder) => ({ privilege: "read", folder }));
      const body = { name: `calendar-${newKey().slice(0, 12)}`, user: user.now?.name, privileges };
      key = (await call("POST", "v3/key", { body })).result.token;
    } catch (error) {
      isDenied = error instanceof CallError && error.code === "PermissionDenied";
      if (!isDenied) fault = explain(error);
    }
    show();
    dialog.querySelector("input")?.select();
  };
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  show();
  dialog.showModal();
}
