// A call as it is sent, and as a command for a terminal.

import { SERVER } from "../api/calls.js";

/** @typedef {import("./document.js").Operation} Operation */

/**
 * @typedef {object} Request
 * @property {string} method
 * @property {URL} url
 * @property {Record<string, string>} headers
 * @property {{ type: string, text: string } | null} body
 * @property {{ name: string, text?: string, files?: File[] }[] | null} parts Those of a form.
 * @property {File | null} file The body, if it is a file.
 */

/** The names of fields whose values are secrets. */
const SECRET = /^(password|pwd|token|secret|ticket|old|new|key)$/i;

/** What stands in place of a secret. */
const HIDDEN = "…";

/**
 * The address of an operation.
 * @param {Operation} operation
 * @param {(place: string, name: string) => string} value What was typed for a parameter.
 */
export function addressOf(operation, value) {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(plain(value("path", name))) || `{${name}}`);
  const url = new URL(path.slice(1), SERVER);
  for (const { name, in: place } of operation.parameters) {
    if (place === "query" && value("query", name) !== "") url.searchParams.set(name, value("query", name));
  }
  return url;
}

/**
 * A part of a path as it is meant: its slashes may be typed as such, or as addresses have them.
 * @param {string} typed
 */
function plain(typed) {
  if (typed.includes("/") || !/%2f/i.test(typed)) return typed;
  try {
    return decodeURIComponent(typed);
  } catch {
    return typed;
  }
}

/**
 * What `fetch` takes to send it.
 * @param {Request} request
 * @returns {RequestInit}
 */
export function initOf({ method, headers, body, parts, file }) {
  if (parts) {
    const form = new FormData();
    for (const { name, text, files } of parts) {
      if (text !== undefined) form.append(name, new Blob([text], { type: "application/json" }));
      for (const one of files ?? []) form.append(name, one);
    }
    return { method, headers, body: form };
  }
  if (file) return { method, headers: { "content-type": file.type || "application/octet-stream", ...headers }, body: file };
  if (!body) return { method, headers };
  return { method, headers: { "content-type": body.type, ...headers }, body: body.text };
}

/**
 * The same call by curl. The token is that of the environment, and no secret is in it.
 * @param {Request} request
 */
export function curlOf({ method, url, headers, body, parts, file }) {
  const address = new URL(url);
  for (const name of [...address.searchParams.keys()]) if (SECRET.test(name)) address.searchParams.set(name, HIDDEN);
  const words = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(address.href.replace(/%7B(\w+)%7D/g, "{$1}"))}`, '-H "token: $TOKEN"'];
  for (const [name, value] of Object.entries(headers)) words.push(`-H ${quoted(`${name}: ${value}`)}`);
  for (const { name, text, files } of parts ?? []) {
    if (text !== undefined) words.push(`-F ${quoted(`${name}=${withoutSecrets(text)};type=application/json`)}`);
    for (const one of files ?? []) words.push(`-F ${quoted(`${name}=@${one.name}`)}`);
  }
  if (file) words.push(`-H ${quoted(`content-type: ${file.type || "application/octet-stream"}`)}`, `--data-binary ${quoted(`@${file.name}`)}`);
  else if (body) words.push(`-H ${quoted(`content-type: ${body.type}`)}`, `--data-raw ${quoted(withoutSecrets(body.text))}`);
  return words.join(" \\\n  ");
}

/** A word for a shell, whatever is in it. @param {string} word */
const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/**
 * A body with its secrets replaced. A text that is no JSON may be a form.
 * @param {string} text
 */
function withoutSecrets(text) {
  try {
    return JSON.stringify(JSON.parse(text, (name, value) => (SECRET.test(name) && typeof value === "string" ? HIDDEN : value)));
  } catch {
    return text.replace(/(^|[&"'\s{,])(password|pwd|token|secret|ticket|old|new|key)(["']?\s*[=:]\s*["']?)[^&"']*/gi, `$1$2$3${HIDDEN}`);
  }
}
