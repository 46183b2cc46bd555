// What the tests of event streams share: a server that can be killed, a proxy that cuts connections, a client, seeded
// random numbers, and the examples of docs/api/events.md.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Milliseconds after which a test gives up waiting. Nothing takes that long, even on a busy machine. */
const PATIENCE = 120_000;

const PASSWORD = "admin-secret";

/** Waits until `condition` returns something true, and returns that. */
export async function until(what, condition) {
  for (const end = Date.now() + PATIENCE; ; await pause(20)) {
    const met = await condition();
    if (met) return met;
    assert(Date.now() < end, `waited in vain until ${typeof what === "function" ? what() : what}`);
  }
}

/** Random numbers that a seed repeats (mulberry32). Prints the seed; STET_EVENTS_SEED repeats a run. */
export function dice() {
  let state = Number(process.env.STET_EVENTS_SEED ?? Math.floor(Math.random() * 2 ** 32)) >>> 0;
  console.log(`STET_EVENTS_SEED=${state}`);
  /** Returns a whole number from 0 to below `sides`. */
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

/** Returns the example of a document whose first line is a comment that begins so. */
export function example(document, first) {
  const blocks = readFileSync(document, "utf8").matchAll(/^```js\n(.*?)^```$/gms);
  const found = [...blocks].map(([, code]) => code).filter((code) => code.startsWith(`// ${first}`));
  assert.equal(found.length, 1, `${document} has one example that begins with "// ${first}"`);
  return found[0];
}

/** A server on a data directory of its own, which can be killed and started again on the same port. */
export class Server {
  #binary;
  #settings;
  #child;
  #directory = mkdtempSync(join(tmpdir(), "stet-events-"));

  /** Starts one. The settings are environment variables. */
  static async start(binary, settings = {}) {
    const server = new Server();
    server.#binary = binary;
    server.#settings = settings;
    // Whatever ends the test, the server ends with it.
    process.on("exit", () => server.#remove());
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
    await server.#begin(0);
    return server;
  }

  async #begin(port) {
    const log = openSync(join(this.#directory, "server.log"), "a");
    this.#child = spawn(
      this.#binary,
      ["serve", "--listen", `127.0.0.1:${port}`, "--data", join(this.#directory, "data")],
      {
        env: {
          ...process.env,
          STET_ADMIN_PASSWORD: PASSWORD,
          STET_SAMPLE_PASSWORD: "sample-secret",
          STET_AUTH__PASSWORD_MEMORY_KIB: "64",
          STET_AUTH__PASSWORD_ITERATIONS: "1",
          // A client that has gone is noticed when something is sent to it.
          STET_EVENTS__KEEP_ALIVE_SECONDS: "1",
          ...this.#settings,
        },
        stdio: ["ignore", "pipe", log],
      },
    );
    let output = "";
    this.#child.stdout.on("data", (text) => (output += text));
    this.base = await until("the server listens", () => {
      assert.equal(this.#child.exitCode, null, `the server has ended:\n${this.log()}`);
      return /^listening on (\S+)$/m.exec(output)?.[1];
    });
    this.port = Number(new URL(this.base).port);
  }

  log() {
    return readFileSync(join(this.#directory, "server.log"), "utf8");
  }

  /** Ends it: with `SIGKILL` as a crash does. */
  async end(signal) {
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }

  /** Starts it again on the same data directory and port. */
  async restart() {
    await this.#begin(this.port);
  }

  /** Checks that it has not panicked, and ends the test and all that it has started. */
  finish() {
    assert(!this.log().includes("panicked"), this.log());
    process.exit(0);
  }

  #remove() {
    this.#child?.kill("SIGKILL");
    // The killed process may still be writing.
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Returns the number of open event streams, as the server counts them. */
  async streams() {
    const metrics = await (await fetch(`${this.base}/metrics`)).text();
    return Number(/^stet_event_followers (\d+)$/m.exec(metrics)[1]);
  }
}

/** A user of the server, who makes drawers and changes them. */
export class Editor {
  /** Logs in. */
  static async login(server) {
    const editor = new Editor();
    editor.server = server;
    const reply = await editor.call("POST", "/v3/auth/login", editor.credentials());
    editor.token = reply.token.value;
    return editor;
  }

  /** Returns the body of a login. */
  credentials() {
    const options = { loadConfig: false };
    return { connectionId: "Editorial", applicationId: "clients", username: "admin", password: PASSWORD, options };
  }

  /** Makes a call until it is answered with a success. It is carried out once, whatever happens to its replies. */
  async call(method, path, body) {
    const headers = { "content-type": "application/json", "idempotency-key": randomUUID() };
    if (this.token) headers.token = this.token;
    return until(`${method} ${path} is answered`, async () => {
      const request = fetch(this.server.base + path, { method, headers, body: body && JSON.stringify(body) });
      const text = await request.then((response) => response.text()).catch(() => null);
      // The server is down, or was killed while it answered.
      if (text === null) return null;
      const reply = JSON.parse(text);
      if (reply.status !== "success" && reply.result?.code === "CMS.Overloaded") return null;
      assert.equal(reply.status, "success", `${method} ${path}: ${text}`);
      return reply.result;
    });
  }

  /** Makes drawers, and returns their loids. */
  async drawers(count) {
    const folderPath = `/Test/events-${randomUUID()}`;
    const made = [];
    for (let number = 0; number < count; number += 1) {
      const body = { name: `drawer-${number}`, folderPath, capacity: 5 };
      made.push((await this.call("POST", "/v3/container/drawer", body)).info.id);
    }
    return made;
  }

  /** Changes a drawer, and returns its revision then. */
  async change(drawer) {
    return (await this.call("PUT", `/v3/container/drawer/${drawer}`, { title: randomUUID() })).info.revision;
  }

  /** Returns a drawer's revision. */
  async revision(drawer) {
    return (await this.call("GET", `/v3/container/drawer/${drawer}`)).info.revision;
  }
}

/** A TCP proxy in front of a server that cuts connections, or answers 503. */
export class Proxy {
  /** Returns the number of bytes after which the next connection is cut; `undefined` for never. */
  limit = () => undefined;
  /** The status with which the proxy itself answers every request; `undefined` if the server does. */
  answer;
  /** The change of what a client sends. */
  rewrite = (text) => text;
  /** The number of connections that were cut, and of requests that the proxy answered. */
  cuts = 0;
  refusals = 0;
  /** The name of the last stream that the server has begun. */
  stream;
  #open = new Set();

  static async before(server) {
    const proxy = new Proxy();
    const listener = net.createServer((client) => proxy.#accept(client, server));
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    listener.unref();
    proxy.port = listener.address().port;
    proxy.base = `http://127.0.0.1:${proxy.port}`;
    return proxy;
  }

  /** Answers all requests with a status from now on. Open connections are cut. */
  refuse(status) {
    [this.answer, this.refusals] = [status, 0];
    this.cut();
  }

  /** Makes ids of events unreadable, as those of another version of the server. Open connections are cut. */
  spoilIds() {
    this.rewrite = (text) => text.replace(/(last-?event-?id(?:=|: ))/gi, "$1v2-");
    this.cut();
  }

  /** Passes on everything again. */
  pass() {
    [this.answer, this.rewrite, this.limit] = [undefined, (text) => text, () => undefined];
  }

  /** Cuts all connections that are open. */
  cut() {
    for (const client of this.#open) {
      this.cuts += 1;
      client.resetAndDestroy();
    }
  }

  #accept(client, server) {
    client.on("error", () => {});
    if (this.answer) {
      client.once("data", () => {
        this.refusals += 1;
        client.end(`HTTP/1.1 ${this.answer} Of The Proxy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
      });
      return;
    }
    this.#open.add(client);
    const upstream = net.connect(server.port, "127.0.0.1");
    upstream.on("error", () => {});
    client.on("close", () => {
      this.#open.delete(client);
      upstream.destroy();
    });
    upstream.on("close", () => client.destroy());
    client.on("data", (bytes) => upstream.write(this.rewrite(bytes.toString("latin1")), "latin1"));
    let left = this.limit();
    upstream.on("data", (bytes) => {
      this.stream = /"stream":"([^"]+)"/.exec(bytes.toString("latin1"))?.[1] ?? this.stream;
      if (left === undefined || bytes.length < left) {
        client.write(bytes);
        if (left !== undefined) left -= bytes.length;
        return;
      }
      this.cuts += 1;
      upstream.removeAllListeners("data");
      // The client receives the rest of what it is allowed, often a part of an event, before the connection ends.
      client.write(bytes.subarray(0, left), () => client.destroy());
    });
  }
}
