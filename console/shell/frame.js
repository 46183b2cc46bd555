// The frame around every page: where one is, who one is, and whether the server is there.

import { CallError, SERVER, partsOfAddress } from "../api/calls.js";
import { isLost } from "../api/events.js";
import { fullName, hasEnded, inbox, readRights, rights, signOut, user } from "../api/people.js";
import { Signal, View, effect } from "../lib/view.js";
import { html } from "../lib/html.js";
import { openMenu } from "../parts/menu.js";
import { notifyFault } from "../parts/notices.js";
import { besideName } from "../parts/signs.js";
import { LANGUAGES, language, setLanguage, text } from "../text/index.js";

/**
 * The pages, by the first part of the address behind `#`. What is not shown yet is not loaded yet. A page without a
 * label, or that is not listed, is not in the navigation.
 * @type {Record<string, { label?: () => string, isListed?: () => boolean, load: () => Promise<unknown>, element: () => unknown }>}
 */
const PAGES = {
  drawers: {
    label: () => text().drawers,
    load: () => import("../drawers/page.js"),
    element: () => html`<drawers-page></drawers-page>`,
  },
  liveblog: {
    label: () => text().liveblogs,
    load: () => withStyle("liveblog", () => import("../liveblog/page.js")),
    element: () => html`<liveblog-page></liveblog-page>`,
  },
  planning: {
    label: () => text().planning,
    load: () => withStyle("planning", () => import("../planning/page.js")),
    element: () => html`<planning-page></planning-page>`,
  },
  messages: {
    label: () => text().messages,
    load: () => withStyle("messages", () => import("../messages/page.js")),
    element: () => html`<messages-page></messages-page>`,
  },
  find: {
    label: () => text().find,
    load: () => withStyle("find", () => import("../find/page.js")),
    element: () => html`<find-page></find-page>`,
  },
  files: {
    label: () => text().files,
    load: () => withStyle("files", () => import("../files/page.js")),
    element: () => html`<files-page></files-page>`,
  },
  bin: {
    label: () => text().bin,
    load: () => withStyle("files", () => import("../files/bin.js")),
    element: () => html`<bin-page></bin-page>`,
  },
  object: {
    load: () => withStyle("object", () => import("../object/page.js")),
    element: () => html`<object-page></object-page>`,
  },
  admin: {
    label: () => text().administration,
    load: () => withStyle("admin", () => import("../admin/page.js")),
    element: () => html`<admin-page></admin-page>`,
    isListed: () => ["manageGroups", "configure"].some((privilege) => rights.value?.has(privilege)),
  },
  api: {
    label: () => text().api.title,
    load: () => withStyle("api-browser", () => import("../api-browser/page.js")),
    element: () => html`<api-page></api-page>`,
    // It is reached beside the documentation.
    isListed: () => false,
  },
};

/** The style sheets that have been asked for, by the folder of their page. @type {Map<string, Promise<unknown>>} */
const styles = new Map();

/**
 * Loads a page together with the style sheet of its folder.
 * @param {string} folder
 * @param {() => Promise<unknown>} load
 */
async function withStyle(folder, load) {
  if (!styles.has(folder)) styles.set(folder, loadStyle(folder).catch((error) => (styles.delete(folder), Promise.reject(error))));
  await styles.get(folder);
  await load();
}

/** @param {string} folder */
function loadStyle(folder) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = new URL(`../${folder}/style.css`, import.meta.url).href;
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => (link.remove(), reject(new CallError(0, "", "", {})));
    document.head.append(link);
  });
}

/** Where the server has its documents. */
const DOCUMENTATION = new URL("docs/", SERVER).href;

/** Whether the bar has no room for all of its links: `style.css` hides those that are in the menu of the account then. */
const narrow = matchMedia("(max-width: 720px)");

const pageOfAddress = () => {
  const [name] = partsOfAddress();
  return name in PAGES ? name : "drawers";
};

const page = new Signal(pageOfAddress());

addEventListener("keydown", (event) => {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
  event.preventDefault();
  location.hash = "#/find";
  /** @type {HTMLElement | null} */ (document.querySelector("find-page input"))?.focus();
});

addEventListener("hashchange", () => (page.value = pageOfAddress()));

/** Where the browser keeps the theme. */
const THEME = "stet.theme";

/** The chosen theme: `light`, `dark`, or empty for that of the system. */
const theme = () => localStorage.getItem(THEME) ?? "";

function showTheme() {
  document.documentElement.style.colorScheme = theme() || "light dark";
}

showTheme();

class StetFrame extends View {
  begin() {
    this.during(
      effect(() => {
        const { label, load } = PAGES[page.value];
        document.title = label ? `${label()} – stet` : "stet";
        if (user.value) load().catch(notifyFault);
        if (user.value === null || hasEnded.value) import("./sign-in.js").catch(notifyFault);
      }),
    );
    let last = "";
    this.during(
      effect(() => {
        const name = user.value?.name;
        if (!name || hasEnded.value) return;
        // Somebody who signs in again finds the page as it was.
        if (name !== last) rights.value = undefined;
        last = name;
        readRights(name).catch(notifyFault);
      }),
    );
  }

  template() {
    const who = user.value;
    if (who === undefined) return html`<p class="wordmark waking">stet</p>`;
    if (who === null) return html`<main><sign-in></sign-in></main>`;
    return html`
      <a class="skip" href="#content" @click=${skip}>${text().skip}</a>
      <header class="bar" ?inert=${hasEnded.value}>
        <span class="wordmark">stet</span>
        <nav aria-label="stet">
          ${Object.entries(PAGES).map(([name, { label, isListed }]) => label && (isListed?.() ?? true) && html`
            <a href=${`#/${name}`} class=${`to-${name}`} aria-current=${name === page.value ? "page" : null}>${label()}${name === "messages" ? unreadMark() : ""}</a>`)}
        </nav>
        <a class="docs" href=${DOCUMENTATION} target="_blank" rel="noopener">${text().documentation}</a>
        <a class="docs" href="#/api" aria-current=${page.value === "api" ? "page" : null}>${text().api.tryIt}</a>
        <button class="plain account" aria-haspopup="menu" title=${text().account}
          @click=${(/** @type {Event} */ event) => this.#menu(event)}>${besideName(who.name)}<span>${fullName(who.name)}</span></button>
      </header>
      ${isLost.value ? html`<p class="lost" role="alert">${text().connectionLost}</p>` : ""}
      <main id="content" tabindex="-1" ?inert=${hasEnded.value}>${PAGES[page.value].element()}</main>
      ${hasEnded.value ? html`<div class="cover"><sign-in></sign-in></div>` : ""}`;
  }

  /** @param {Event} event */
  #menu(event) {
    const themes = /** @type {const} */ ([["", text().themeSystem], ["light", text().themeLight], ["dark", text().themeDark]]);
    const sign = (/** @type {boolean} */ isChosen) => (isChosen ? "✓ " : "");
    openMenu(/** @type {Element} */ (event.currentTarget), [
      ...themes.map(([name, label]) => ({ label: sign(theme() === name) + label, act: () => {
        localStorage.setItem(THEME, name);
        showTheme();
      } })),
      null,
      ...Object.entries(LANGUAGES).map(([tag, label]) => ({
        label: sign(language() === tag) + label,
        act: () => void setLanguage(tag).catch(notifyFault),
      })),
      null,
      ...(narrow.matches ? [
        { label: text().documentation, act: () => void window.open(DOCUMENTATION, "_blank", "noopener") },
        { label: text().api.tryIt, act: () => (location.hash = "#/api") },
        null,
      ] : []),
      { label: text().signOut, act: () => void signOut().catch(notifyFault) },
    ], text().account);
  }
}

/** The number of unread messages, if there are any. */
function unreadMark() {
  const count = (inbox.value?.user === user.value?.name && inbox.value?.unread) || 0;
  return count > 0 ? html`<b class="unread-count" title=${text().unreadCount(count)}>${count}<span class="unseen">${text().unread}</span></b>` : "";
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

customElements.define("stet-frame", StetFrame);
