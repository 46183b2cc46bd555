// Events of the containers that this page shows.

import { ownScript } from "../lib/html.js";
import { Signal } from "../lib/view.js";
import { SERVER } from "./calls.js";

/** @typedef {import("./stream.js").Message} Message */
/** @typedef {(message: Message) => void} Listener */

/** Whether the connection to the server is interrupted. */
export const isLost = new Signal(false);

/** @type {Map<Listener, string>} */
const listeners = new Map();

/** @type {Promise<(containers: string[]) => void> | null} */
let show = null;

let isDue = false;

/** @param {Message} message */
function receive(message) {
  if (message.kind === "lost") isLost.value = true;
  if (message.kind === "found" || message.kind === "following") isLost.value = false;
  for (const [listener, container] of [...listeners]) {
    if (message.container === undefined || message.container === container) listener(message);
  }
}

/** Connects to the worker, or opens a stream of this page's own where there are no shared workers. */
async function connect() {
  if (typeof SharedWorker === "undefined") {
    const { Stream } = await import("./stream.js");
    const stream = new Stream(SERVER);
    return (/** @type {string[]} */ containers) => stream.show(receive, containers);
  }
  const file = ownScript(new URL("stream.js", import.meta.url));
  const { port } = new SharedWorker(file, { type: "module", name: "stet events" });
  port.onmessage = ({ data }) => receive(data);
  addEventListener("pagehide", () => port.postMessage([]));
  return (/** @type {string[]} */ containers) => port.postMessage(containers);
}

/** Tells the stream once for all changes of a task. */
function tell() {
  if (isDue) return;
  isDue = true;
  queueMicrotask(async () => {
    isDue = false;
    show ??= connect();
    (await show)([...new Set(listeners.values())]);
  });
}

addEventListener("pageshow", ({ persisted }) => persisted && tell());

/**
 * Calls a listener with each event of a container. After `following` it should read the container, and again after each
 * event with a higher revision. Returns a function that ends this.
 * @param {string} container A loid.
 * @param {Listener} listener
 * @returns {() => void}
 */
export function follow(container, listener) {
  listeners.set(listener, container);
  tell();
  return () => {
    listeners.delete(listener);
    tell();
  };
}

/** Follows everything again, after a login. */
export const followAgain = tell;
