// The recycle bin: what was discarded, by whom and from where, and back again.

import { call } from "../api/calls.js";
import { fullName } from "../api/people.js";
import { html, keyed } from "../lib/html.js";
import { Signal, View } from "../lib/view.js";
import { thumbnail } from "../parts/card.js";
import { ask } from "../parts/dialog.js";
import { entryOf } from "../parts/entry.js";
import { notify, notifyFault } from "../parts/notices.js";
import { ago, explain, text } from "../text/index.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */
/** @typedef {{ entry: Entry, path: string, at: number, by: string }} Discarded */

/** The entries that are read at once, and by how many more each time. */
const PAGE = 50;

class BinPage extends View {
  /** @type {Signal<Discarded[] | null>} */
  #list = new Signal(/** @type {Discarded[] | null} */ (null));
  #total = new Signal(0);
  #most = PAGE;

  begin() {
    this.#read().catch(notifyFault);
  }

  async #read() {
    const { result } = await call("GET", "v3/recyclebin", { query: { limit: this.#most } });
    this.#total.value = result.total;
    this.#list.value = result.items.map((/** @type {any} */ record) => ({
      entry: entryOf(record),
      path: record.formerPath,
      at: record.discarded * 1000,
      by: record.discardedBy,
    }));
  }

  template() {
    const list = this.#list.value;
    return html`
      <div class="files">
        <div class="toolbar"><h1>${text().bin}</h1></div>
        <div class="listing">
          ${list?.length === 0 ? html`<div class="nothing"><p><b>${text().emptyBin}</b></p></div>` : ""}
          <ol class="bin">${keyed(list ?? [], ({ entry }) => entry.id, (one) => html`
            <li data-entry=${one.entry.id}>${thumbnail(one.entry)}
              <span class="body"><b>${one.entry.title}</b><small>${text().discardedBy(fullName(one.by), ago(one.at), one.path)}</small></span>
              <button @click=${() => void this.#restore(one)}>${text().restore}</button>
              <button class="plain" @click=${() => this.#destroy(one)}>${text().destroy}</button></li>`)}
          </ol>
          ${list && this.#total.value > list.length ? html`<button class="more" @click=${() => ((this.#most += PAGE), this.#read().catch(notifyFault))}>${text().showMore}</button>` : ""}
        </div>
      </div>`;
  }

  /** @param {Discarded} one */
  async #restore({ entry }) {
    try {
      await call("POST", "v3/object/{object}/restore", { parts: { object: entry.id }, body: {} });
      notify(text().wasRestored(entry.title));
    } catch (error) {
      notifyFault(error);
    }
    await this.#read().catch(notifyFault);
  }

  /** @param {Discarded} one */
  #destroy({ entry }) {
    ask(text().destroySure(entry.title), html`<p>${text().destroyHint}</p>`, text().destroy.replace(/\s*…$/, ""), async () => {
      try {
        await call("DELETE", "v3/object/{object}/destroy", { parts: { object: entry.id } });
      } catch (error) {
        return explain(error);
      }
      await this.#read().catch(notifyFault);
    });
  }
}

customElements.define("bin-page", BinPage);
