// A menu at a button: opened by pointer or key, walked by arrow keys, closed by Escape; the focus goes back.

/** @typedef {{ label: string, act: () => void, isOff?: boolean, isRisky?: boolean } | null} Entry A null is a line between. */

/**
 * Opens a menu.
 * @param {Element} button What it belongs to.
 * @param {Entry[]} entries
 * @param {string} label What the menu is about.
 */
export function openMenu(button, entries, label) {
  const menu = document.createElement("div");
  menu.className = "menu";
  menu.role = "menu";
  menu.popover = "auto";
  menu.ariaLabel = label;
  for (const entry of entries) menu.append(entry ? choice(menu, entry) : line());
  // Where the button is, so that it belongs to the same part of the page.
  (button.closest("header, main, aside, dialog") ?? document.body).append(menu);
  button.setAttribute("aria-expanded", "true");
  const before = document.activeElement;
  menu.addEventListener("keydown", (event) => walk(menu, event));
  menu.addEventListener("beforetoggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState === "open") return;
    button.setAttribute("aria-expanded", "false");
    if (menu.contains(document.activeElement) && before instanceof HTMLElement) before.focus();
  });
  menu.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState === "closed") menu.remove();
  });
  menu.showPopover();
  place(menu, button.getBoundingClientRect());
  choices(menu)[0]?.focus();
}

function line() {
  const rule = document.createElement("hr");
  rule.role = "separator";
  return rule;
}

/**
 * @param {HTMLElement} menu
 * @param {NonNullable<Entry>} entry
 */
function choice(menu, { label, act, isOff, isRisky }) {
  const button = document.createElement("button");
  button.role = "menuitem";
  button.tabIndex = -1;
  button.textContent = label;
  button.disabled = isOff ?? false;
  button.classList.toggle("risky", isRisky ?? false);
  button.addEventListener("click", () => {
    menu.hidePopover();
    act();
  });
  return button;
}

/** @param {Element} menu */
const choices = (menu) => /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("button:not(:disabled)")]);

/**
 * @param {HTMLElement} menu
 * @param {KeyboardEvent} event
 */
function walk(menu, event) {
  const all = choices(menu);
  const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  /** @type {Record<string, number>} */
  const places = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 };
  if (event.key === "Tab") menu.hidePopover();
  if (!(event.key in places)) return;
  event.preventDefault();
  all[places[event.key] % all.length]?.focus();
}

/**
 * Puts a menu below a button, or above it where there is no room.
 * @param {HTMLElement} menu
 * @param {DOMRect} at
 */
function place(menu, at) {
  const { offsetWidth: width, offsetHeight: height } = menu;
  const left = Math.max(8, Math.min(at.right - width, innerWidth - width - 8));
  const below = at.bottom + 4;
  const top = below + height > innerHeight - 8 ? Math.max(8, at.top - height - 4) : below;
  menu.style.translate = `${left}px ${top}px`;
}
