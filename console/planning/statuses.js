// The statuses that workflows allow next, as a menu.

import { nextSteps } from "../object/workflow.js";
import { html } from "../lib/html.js";
import { ask } from "../parts/dialog.js";
import { openMenu } from "../parts/menu.js";
import { notifyFault, say } from "../parts/notices.js";
import { explain, text } from "../text/index.js";

/** A status without the name of its workflow. @param {string} status */
export const shortStatus = (status) => status.replace(/^.*\//, "");

/**
 * Opens the menu.
 * @param {Element} button
 * @param {{ title: string, type: string, database: number, workflow: string, status: string }} of
 * @param {(status: string) => Promise<unknown>} set
 */
export async function openStatusMenu(button, { title, type, database, workflow, status }, set) {
  const record = { type, databaseId: database, statusInfo: { name: status }, additionalInfo: { workflow } };
  const change = (/** @type {string} */ to) => set(to).then(() => say(text().statusIs(shortStatus(to))));
  try {
    const steps = await nextSteps(record);
    const entries = steps.map(({ status: to, label, isAsked }) => ({
      label,
      act: () => {
        if (!isAsked) return void change(to).catch(notifyFault);
        ask(text().statusSure(title, shortStatus(to)), html``, label, () => change(to).then(() => {}, explain));
      },
    }));
    openMenu(button, entries.length > 0 ? entries : [{ label: text().noNextStatus, act: () => {}, isOff: true }], text().statusOfIt);
  } catch (error) {
    notifyFault(error);
  }
}
