// A secret that the server shows once.

import { html } from "../lib/html.js";
import { copy } from "../parts/notices.js";
import { text } from "../text/index.js";

/**
 * @param {string} title
 * @param {string} secret
 * @param {() => void} close
 */
export const shownSecret = (title, secret, close) => html`
  <section class="secret" role="status" aria-label=${title}>
    <p><b>${title}</b> ${text().admin.secretHint}</p>
    <p class="line"><code tabindex="0">${secret}</code>
      <button class="primary" @click=${() => void copy(secret, text().admin.secretCopied)}>${text().admin.copySecret}</button>
      <button @click=${close}>${text().admin.secretKept}</button></p>
  </section>`;
