// An object on the screen: its record, and the changes that people make to it.

import { CallError, call } from "../api/calls.js";
import { OpenContainer } from "../api/container.js";
import { Signal } from "../lib/view.js";
import { entryOf } from "../parts/entry.js";

/** @typedef {import("../parts/entry.js").Entry} Entry */

/** How often a change is tried again that another one has come before. */
const ATTEMPTS = 5;

export class OpenObject extends OpenContainer {
  /** The record (docs/api/objects.md); null before it is read. @type {Signal<any>} */
  record = new Signal(null);
  /** @type {Signal<Entry | null>} */
  entry = new Signal(/** @type {Entry | null} */ (null));

  /** @override */
  async fetch() {
    const { result } = await this.#get();
    return () => {
      this.#show(result);
      return result.revision;
    };
  }

  /** @param {any} result */
  #show(result) {
    this.record.value = result;
    this.entry.value = entryOf(result, this.entry.now ?? undefined);
  }

  #get() {
    const query = { showPath: true, showAdditionalInfo: true };
    return call("GET", "v3/object/{object}", { parts: { object: this.loid }, query });
  }

  /** What names it in the paths of calls. */
  get #parts() {
    return { object: this.loid };
  }

  /** @param {string} status */
  setStatus(status) {
    const options = { parts: this.#parts, body: { status } };
    return this.change(() => {}, () => call("POST", "v3/object/{object}/status", options));
  }

  /** @param {string} name */
  rename(name) {
    const options = { parts: this.#parts, body: { name } };
    return this.change(() => {}, () => call("POST", "v3/object/{object}/rename", options));
  }

  /** @param {string} folder A loid, uuid or path. */
  moveTo(folder) {
    const options = { parts: this.#parts, body: { folder } };
    return this.change(() => {}, () => call("POST", "v3/object/{object}/move", options));
  }

  discard() {
    return call("DELETE", "v3/object/{object}/discard", { parts: this.#parts });
  }

  restore() {
    const options = { parts: this.#parts, body: {} };
    return this.change(() => {}, () => call("POST", "v3/object/{object}/restore", options));
  }

  lock() {
    return this.change(() => {}, () => call("POST", "v3/object/{object}/lock", { parts: this.#parts, body: {} }));
  }

  /** Releases the lock of another session or user. */
  breakLock() {
    const options = { parts: this.#parts, body: { force: true } };
    return this.change(() => {}, () => call("POST", "v3/object/{object}/unlock", options));
  }

  /**
   * Reads the content: the draft, if this session has the object checked out.
   * @param {number} [version]
   */
  readContent(version) {
    return call("GET", "v3/object/{object}/content", { parts: this.#parts, query: { version } });
  }

  /**
   * Writes the content as `switches` say (docs/api/content.md, "Writing content").
   * @param {Blob | undefined} content Without one, the draft counts.
   * @param {Record<string, boolean>} switches
   * @param {string} [ifMatch]
   */
  writeContent(content, switches, ifMatch) {
    const options = { parts: this.#parts, query: switches, content, ifMatch };
    return this.change(() => {}, () => call("PUT", "v3/object/{object}/content", options));
  }

  /** @param {number} version */
  restoreVersion(version) {
    const parts = { ...this.#parts, version };
    return this.change(() => {}, () => call("POST", "v3/object/{object}/versions/{version}/restore", { parts, body: {} }));
  }

  /**
   * Changes fields of the attributes in the state on the server. If somebody else changes something meanwhile, the
   * operators are made again for the newer state.
   * @param {(record: any) => object[] | null} operators For a record (docs/api/objects.md, "Changing fields"). Null if
   *   the state does not allow the change.
   * @returns {Promise<{ isChanged: boolean, warnings: string[] }>}
   */
  changeFields(operators) {
    return this.change(() => {}, async () => {
      for (let attempt = 1; ; attempt++) {
        const { result: record, etag } = await this.#get();
        this.#show(record);
        const list = operators(record);
        if (list === null || list.length === 0) return { isChanged: list !== null, warnings: [] };
        const body = { updateFields: [{ sourceIds: [this.loid], operators: list }] };
        try {
          const { result, warnings } = await call("POST", "v3/object/metadata/change/fields", { body, ifMatch: etag });
          const [fault] = result.errors;
          if (fault) throw new CallError(400, fault.code.replace(/^.*\./, ""), fault.message, fault.details ?? {});
          this.#show((await this.#get()).result);
          return { isChanged: true, warnings };
        } catch (error) {
          const isOutdated = error instanceof CallError && error.code === "PreconditionFailed";
          if (!isOutdated || attempt === ATTEMPTS) throw error;
        }
      }
    });
  }
}
