// Files on their way into a folder: a few at a time, in the order in which they were dropped. One that fails keeps none
// of the others.

import { CallError, address, errorOf, newKey } from "../api/calls.js";
import { Signal } from "../lib/view.js";

/**
 * @typedef {object} Upload
 * @property {number} id
 * @property {File} file
 * @property {string} folder
 * @property {"waits" | "runs" | "done" | "failed"} state
 * @property {number} share The part that is sent, from 0 to 1.
 * @property {CallError | null} fault
 * @property {string} key Under which it is sent again, so that it arrives once.
 */

/** The number of files that are sent at the same time. */
const AT_ONCE = 3;

/** @type {Signal<Upload[]>} */
export const uploads = new Signal([]);

let last = 0;

/**
 * @param {Iterable<File>} files
 * @param {string} folder
 */
export function upload(files, folder) {
  const more = [...files].map((file) => ({
    id: ++last,
    file,
    folder,
    state: /** @type {const} */ ("waits"),
    share: 0,
    fault: null,
    key: newKey(),
  }));
  uploads.value = [...uploads.now, ...more];
  proceed();
}

/** @param {Upload} one */
export function again(one) {
  set(one, { state: "waits", fault: null, share: 0 });
  proceed();
}

/** Forgets what has arrived or failed. */
export function clearUploads() {
  uploads.value = uploads.now.filter(({ state }) => state === "waits" || state === "runs");
}

/**
 * @param {Upload} one
 * @param {Partial<Upload>} state
 */
function set(one, state) {
  Object.assign(one, state);
  uploads.changed();
}

function proceed() {
  const free = AT_ONCE - uploads.now.filter(({ state }) => state === "runs").length;
  for (const one of uploads.now.filter(({ state }) => state === "waits").slice(0, Math.max(0, free))) {
    set(one, { state: "runs" });
    send(one).then(
      () => set(one, { state: "done", share: 1 }),
      (error) => set(one, { state: "failed", fault: error }),
    ).finally(proceed);
  }
}

/**
 * Sends a file. Only this old interface of browsers tells how much of it has been sent.
 * @param {Upload} one
 */
function send(one) {
  const form = new FormData();
  form.append("options", JSON.stringify({ name: one.file.name, folder: one.folder, createMode: "AUTO_RENAME" }));
  form.append("content", one.file);
  const request = new XMLHttpRequest();
  request.open("POST", address("v3/object/create"));
  request.setRequestHeader("idempotency-key", one.key);
  request.upload.onprogress = ({ loaded, total }) => set(one, { share: total > 0 ? loaded / total : 0 });
  return new Promise((resolve, reject) => {
    request.onload = () => (request.status === 200 ? resolve(null) : reject(errorOf(request.status, request.responseText)));
    request.onerror = () => reject(new CallError(0, "", "", {}));
    request.send(form);
  });
}
