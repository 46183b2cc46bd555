// Clients in Node follow drawers while the server is killed, connections are cut, and a proxy answers 503. Each receives
// each change once and in order. Some are a plain `EventSource`, others the example in docs/api/events.md. Arguments:
// the server's binary, and the path of that document.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EventSource } from "eventsource";
import { Editor, Proxy, Server, dice, example, until } from "./newsroom.mjs";

const [binary, document] = process.argv.slice(2);
const roll = dice();

// The example of the document, as its readers would have it.
const recipe = join(import.meta.dirname, "follow.mjs");
writeFileSync(recipe, example(document, "follow.mjs"));
const { follow } = await import(recipe);

const KINDS = ["hello", "reset", "hidden", "unfollowed", "presence", "drawer.update"];

/** What one client has received of its `count` containers. */
class Receiver {
  /** The last revision of each container. */
  at = new Map();
  faults = [];
  /** The number of interruptions. */
  errors = 0;

  constructor(name, count) {
    this.name = name;
    this.count = count;
  }

  receive({ container, revision }, kind) {
    this.presence ||= kind === "presence";
    if (kind === "presence") return;
    const last = this.at.get(container);
    // Each change of a drawer raises its revision by one.
    const expected = last === undefined ? kind === "hello" : kind === "drawer.update" && revision === last + 1;
    if (!expected) this.faults.push(`${kind} ${revision} of ${container} after ${last}`);
    this.at.set(container, revision);
  }
}

/** A plain `EventSource`, which resumes by itself. */
class PlainClient extends Receiver {
  /** The id of the last event, and that of each request after the first one. */
  last = "";
  resumed = [];

  constructor(name, count, url, token) {
    super(name, count);
    const withToken = (address, init) => {
      if (this.at.size > 0) this.resumed.push([init.headers["Last-Event-ID"], this.last]);
      return fetch(address, { ...init, headers: { ...init.headers, token } });
    };
    this.source = new EventSource(url, { fetch: withToken });
    for (const kind of KINDS) {
      this.source.addEventListener(kind, (event) => {
        this.last = event.lastEventId || this.last;
        this.receive(JSON.parse(event.data), kind);
      });
    }
    this.source.onerror = ({ code }) => {
      this.errors += 1;
      this.code = code;
    };
  }
}

const server = await Server.start(binary);
const editor = await Editor.login(server);
const reader = await Editor.login(server);
const proxy = await Proxy.before(server);
const drawers = await editor.drawers(5);
const made = new Map(drawers.map((drawer) => [drawer, 1]));

const plain = [0, 1, 2].map((number) => {
  const containers = drawers.slice(number);
  const url = `${proxy.base}/v3/events?${new URLSearchParams({ containers })}`;
  return new PlainClient(`several-${number}`, containers.length, url, editor.token);
});
for (const drawer of drawers.slice(0, 3)) {
  plain.push(new PlainClient(`one-${drawer}`, 1, `${proxy.base}/v3/container/${drawer}/events`, editor.token));
}
const robust = [0, 1].map((number) => {
  const receiver = new Receiver(`example-${number}`, drawers.length);
  receiver.end = follow({
    server: proxy.base,
    token: number === 0 ? editor.token : reader.token,
    containers: drawers,
    kinds: KINDS,
    receive: (data, kind) => (kind === "refused" ? (receiver.refused = data.code) : receiver.receive(data, kind)),
  });
  return receiver;
});
const all = [...plain, ...robust];

/** Waits until these clients have received all changes. */
async function caughtUp(clients, what) {
  const missing = () =>
    clients.flatMap(({ name, at, faults }) => {
      assert.deepEqual(faults, [], `${name}, ${what}`);
      const late = [...at].filter(([drawer, revision]) => revision !== made.get(drawer));
      return late.map(([drawer]) => `${name}: ${drawer}`);
    });
  await until(() => `all is received ${what}; missing: ${missing()}`, () => missing().length === 0);
}

/** Changes random drawers until `condition` holds. */
async function changeUntil(what, condition) {
  await until(what, async () => {
    const drawer = drawers[roll(drawers.length)];
    const revision = await editor.change(drawer);
    assert.equal(revision, made.get(drawer) + 1, "each change is made once");
    made.set(drawer, revision);
    return condition();
  });
}

/** Returns the number of all changes so far. */
const total = () => [...made.values()].reduce((sum, revision) => sum + revision);

/** Changes random drawers a number of times. */
const change = (times) => changeUntil(`${times} changes are made`, () => (times -= 1) < 0);

await until("all have begun", () => all.every(({ at, count }) => at.size === count));
assert.equal(await server.streams(), all.length);
await change(20);
await caughtUp(all, "at first");

for (const signal of ["SIGKILL", "SIGTERM", "SIGKILL"]) {
  const errors = plain.map((client) => client.errors);
  const [first, moment] = [total(), roll(40)];
  const writing = change(40);
  await until("the server is amid changes", () => total() >= first + moment);
  await server.end(signal);
  await until("all have noticed", () => plain.every((client, index) => client.errors > errors[index]));
  await server.restart();
  await writing;
  await change(5);
  await caughtUp(all, `after ${signal}`);
}
console.log("ended and killed: all is received");

proxy.limit = () => 1 + roll(4000);
proxy.cut();
const before = plain.map(({ errors }) => errors);
await changeUntil("each is cut off", () => plain.every(({ errors }, index) => errors >= before[index] + 2));
proxy.pass();
proxy.cut();
await change(5);
await caughtUp(all, "after cuts");
console.log(`${proxy.cuts} connections were cut: all is received`);

// The last event has no id.
await editor.call("POST", "/v3/presence", { container: drawers[0], state: "viewing" });
await until("all have heard of it", () => robust.every(({ presence }) => presence));
proxy.refuse(503);
const isClosed = ({ source }) => source.readyState === EventSource.CLOSED;
await until("all plain clients have given up", () => plain.every(isClosed));
for (const { code, name } of plain) assert.equal(code, 503, name);
await change(5);
await until("the others have tried again", () => proxy.refusals >= plain.length + 2 * robust.length);
proxy.pass();
await change(5);
await caughtUp(robust, "after answers of 503");
for (const client of plain) assert(isClosed(client), client.name);
console.log(`${proxy.refusals} requests were answered with 503: all is received by the example of the document`);

// The next event of each container is `hello`.
robust.forEach(({ at }) => at.clear());
proxy.spoilIds();
await until("they have begun anew", () => robust.every(({ at }) => at.size === drawers.length));
proxy.pass();
await change(5);
await caughtUp(robust, "after ids that the server could not read");

for (const { name, resumed, faults } of plain) {
  assert.deepEqual(faults, [], name);
  assert(resumed.length >= 4, `${name} has resumed ${resumed.length} times`);
  for (const [sent, last] of resumed) assert.equal(sent, last, `${name} resumes after its last event`);
}
robust[0].end();
await reader.call("GET", "/v3/auth/logout");
await until("the end of the session is reported", () => robust[1].refused);
assert.equal(robust[1].refused, 401);
await until("the server has no stream any more", async () => (await server.streams()) === 0);
server.finish();
