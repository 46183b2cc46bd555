// What the server has outside its interface.

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
