// Calls whose whole reply is wanted: its status, its headers, and its bytes as they are. They are never sent again.

import { CallError, SERVER } from "./calls.js";

/** The wait for what is outside the interface, in milliseconds. */
const WAIT = 20_000;

/**
 * Reads a path outside the interface, such as `metrics`: a proxy may serve it beside the console, or at the root.
 * @param {string} path
 * @returns {Promise<{ status: number, text: string }>}
 */
export async function outside(path) {
  const near = new URL(path, SERVER);
  const root = new URL(`/${path}`, SERVER);
  const reply = await read(near);
  return reply.status === 404 && root.href !== near.href ? read(root) : reply;
}

/** @param {URL} url */
async function read(url) {
  try {
    const reply = await fetch(url, { credentials: "same-origin", signal: AbortSignal.timeout(WAIT) });
    return { status: reply.status, text: await reply.text() };
  } catch {
    throw new CallError(0, "", "", {});
  }
}

/**
 * @typedef {object} BoundedReply
 * @property {number} status
 * @property {Headers} headers
 * @property {Uint8Array<ArrayBuffer>} bytes
 * @property {boolean} isCut Whether there was more.
 * @property {number} milliseconds Until the body ended, or was cut.
 */

/**
 * Makes one call, and reads so much of its reply. What came before an abortion counts.
 * @param {URL} url
 * @param {RequestInit & { signal: AbortSignal }} init
 * @param {number} most In bytes.
 * @returns {Promise<BoundedReply>}
 */
export async function sendBounded(url, init, most) {
  const begun = performance.now();
  let reply;
  try {
    reply = await fetch(url, { ...init, credentials: "same-origin" });
  } catch (error) {
    if (init.signal.aborted) throw error;
    throw new CallError(0, "", "", {});
  }
  /** @type {Uint8Array[]} */
  const parts = [];
  let size = 0;
  let isCut = false;
  const reader = reply.body?.getReader();
  try {
    while (reader && size <= most) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      size += value.length;
    }
  } catch {
    isCut = true;
  }
  if (size > most) isCut = true;
  if (isCut) reader?.cancel().catch(() => {});
  const bytes = new Uint8Array(await new Blob(/** @type {BlobPart[]} */ (parts)).arrayBuffer()).slice(0, most);
  return { status: reply.status, headers: reply.headers, bytes, isCut, milliseconds: performance.now() - begun };
}
