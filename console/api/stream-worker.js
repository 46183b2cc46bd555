// The shared worker that holds the stream of events of all tabs.

import { Stream } from "./stream.js";

// This file lies at console/assets-…/api/ below the server's address.
const stream = new Stream(new URL("../../..", import.meta.url));

self.addEventListener("connect", (event) => {
  const [port] = /** @type {MessageEvent} */ (event).ports;
  const page = (/** @type {unknown} */ message) => port.postMessage(message);
  port.onmessage = ({ data }) => stream.show(page, data);
});
