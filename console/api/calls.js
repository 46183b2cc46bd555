// Calls to the server, and addresses. Every other module makes its calls here; `raw.js` has those that are no part of it.

/** The server's address, below whatever prefix a proxy has put before it. */
export const SERVER = new URL("..", document.baseURI);

/**
 * The page that the address names behind `#`, what is shown on it, and which part of that: empty where it names none.
 * @returns {[page: string, shown: string, part: string]}
 */
export function partsOfAddress() {
  const [, page = "", shown = "", part = ""] = location.hash.split("/");
  try {
    return [page, decodeURIComponent(shown), part];
  } catch {
    return [page, shown, part];
  }
}

/** A call that failed. */
export class CallError extends Error {
  /**
   * @param {number} status 0 if no answer came.
   * @param {string} code The code of docs/api/README.md without its prefix; empty if no answer came.
   * @param {string} message
   * @param {Record<string, any>} details
   */
  constructor(status, code, message, details) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** Whether no answer came, or one that says to try again. */
  get isPassing() {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

/** @type {((error: CallError) => void) | null} */
let onSessionEnd = null;

/**
 * Sets what is called when the server no longer knows the session.
 * @param {(error: CallError) => void} listener
 */
export function whenSessionEnds(listener) {
  onSessionEnd = listener;
}

/**
 * Reports that the server no longer knows the session.
 * @param {CallError} error
 */
export const sessionEnded = (error) => onSessionEnd?.(error);

/**
 * The address of an endpoint.
 * @param {string} path Such as `v3/object/{source}`, whose parts in braces are replaced.
 * @param {Record<string, string | number>} parts
 * @param {Record<string, string | number | boolean | undefined>} query Without the undefined ones.
 */
export function address(path, parts = {}, query = {}) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(parts[name])));
  const url = new URL(filled, SERVER);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

/**
 * @typedef {object} CallOptions
 * @property {Record<string, string | number>} [parts] What replaces the parts in braces of the path.
 * @property {Record<string, string | number | boolean | undefined>} [query]
 * @property {unknown} [body] Sent as JSON.
 * @property {FormData} [form] Sent in place of a body.
 * @property {Blob} [content] Sent in place of a body, as its media type.
 * @property {string} [ifMatch] The ETag of the state that is changed.
 * @property {AbortSignal} [signal]
 * @property {boolean} [isRead] Whether a POST changes nothing.
 * @property {boolean} [login] Whether this is a login, which may be refused without ending a session.
 * @property {boolean} [isAnonymous] Whether it is sent without the cookie: an ended session is refused even where none is needed.
 */

/**
 * @typedef {object} Reply
 * @property {any} result The result without its envelope; null unless it is JSON.
 * @property {string} text The body. Empty if it is no text in UTF-8.
 * @property {string} etag
 * @property {string[]} warnings What the server found unusual.
 */

/** A key under which a call is made once. Pages without TLS have no other source of them than random bytes. */
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The pauses before a call is sent again, in milliseconds. */
const PAUSES = [250, 1000, 3000];

/**
 * Makes a call. While no answer comes, it is sent again: reads, and changes for which that is the same as once. A POST
 * has a key for this (docs/api/README.md, "Sending a call again").
 * @param {"GET" | "POST" | "PUT" | "DELETE"} method
 * @param {string} path
 * @param {CallOptions} options
 * @returns {Promise<Reply>}
 */
export async function call(method, path, options = {}) {
  const { parts, query, body, form, content, ifMatch, signal, isRead, login, isAnonymous } = options;
  /** @type {Record<string, string>} */
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (ifMatch) headers["if-match"] = ifMatch;
  if (method === "POST" && !login && !isRead) headers["idempotency-key"] = newKey();
  const sent = content ?? form ?? (body === undefined ? undefined : JSON.stringify(body));
  for (let attempt = 0; ; attempt++) {
    try {
      return await once(address(path, parts, query), { method, headers, body: sent, signal, credentials: isAnonymous ? "omit" : "same-origin" });
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (error.status === 401 && !login) sessionEnded(error);
      const isSent = error.code === "IdempotencyRunning";
      if (attempt === PAUSES.length || !(error.isPassing || isSent)) throw error;
      await pause(PAUSES[attempt] * (0.75 + Math.random() / 2), signal);
    }
  }
}

/**
 * @param {URL} url
 * @param {RequestInit} init
 * @returns {Promise<Reply>}
 */
async function once(url, init) {
  let reply;
  let content = "";
  try {
    reply = await fetch(url, init);
    content = decode(await reply.arrayBuffer());
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new CallError(0, "", "", {});
  }
  if (!reply.ok) throw errorOf(reply.status, content);
  const json = parse(content);
  // The older surface replies without an envelope.
  const result = json?.status === "success" ? json.result : json;
  const warnings = (json?.warnings ?? []).map((/** @type {any} */ warning) => warning.message);
  return { result, text: content, etag: reply.headers.get("etag") ?? "", warnings };
}

/** @param {ArrayBuffer} bytes */
function decode(bytes) {
  try {
    // A byte order mark is part of a content that is edited.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "";
  }
}

/**
 * Returns the JSON of a reply. Null for anything else: a proxy may answer with a page.
 * @param {string} content
 * @returns {any}
 */
function parse(content) {
  try {
    return JSON.parse(content);
  } catch {
    return null;
  }
}

/**
 * The error of a reply.
 * @param {number} status
 * @param {string} content
 */
export function errorOf(status, content) {
  const { code = "", message = "", details = {} } = parse(content)?.result ?? {};
  return new CallError(status, code.replace(/^.*\./, ""), message, details);
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} [signal]
 */
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}
