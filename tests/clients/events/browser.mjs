// Pages of other origins, in Chromium: seven tabs share one stream, and none of them ever hangs. The pages are made of
// the examples in docs/api/events.md. Arguments: the server's binary, the path of that document, and the path of
// Chromium. A picture of a tab is written to `tab.png`. With STET_EVENTS_CONSOLE=1 the consoles of the tabs are shown.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { Editor, Proxy, Server, dice, example, until } from "./newsroom.mjs";

const [binary, document, executablePath] = process.argv.slice(2);
const roll = dice();

/** The number of connections that a browser opens to one origin over HTTP/1.1. */
const MOST_CONNECTIONS = 6;

// Page and server are two origins of one site, so the browser sends the cookie of the login.
const files = { "/events.js": example(document, "events.js"), "/desk.js": example(document, "desk.js") };
files["/"] = readFileSync(join(import.meta.dirname, "page.html"), "utf8");
files["/bare"] = "<!doctype html><title>Bare</title>";
// The package of the example for Node, as a page loads it.
files["/follow.mjs"] = example(document, "follow.mjs");
const packages = ["eventsource", "eventsource-parser"].map((name) => {
  const path = `/node_modules/${name}/dist/index.js`;
  files[path] = readFileSync(join(import.meta.dirname, path), "utf8");
  return [name, path];
});
const imports = JSON.stringify({ imports: Object.fromEntries(packages) });
files["/elsewhere"] = `<!doctype html><title>Elsewhere</title><script type="importmap">${imports}</script>`;
const pages = http.createServer((request, response) => {
  const text = files[new URL(request.url, "http://page").pathname];
  const type = /\.m?js$/.test(request.url) ? "text/javascript" : "text/html; charset=utf-8";
  response.writeHead(text ? 200 : 404, { "content-type": type });
  response.end(text?.replaceAll("https://stet.example.org", address));
});
pages.listen(0, "127.0.0.1");
await once(pages, "listening");
const origin = `http://desk.newsroom.test:${pages.address().port}`;
const otherSite = `http://desk.elsewhere.test:${pages.address().port}`;

const server = await Server.start(binary, { STET_SERVER__CORS_ORIGINS: `${origin},${otherSite}` });
const proxy = await Proxy.before(server);
const address = `http://stet.newsroom.test:${proxy.port}`;
const editor = await Editor.login(server);
const common = await editor.drawers(6);
const own = await Promise.all(Array.from({ length: 7 }, () => editor.drawers(6)));
const made = new Map([...common, ...own.flat()].map((drawer) => [drawer, 1]));

// Without a path the profile is a new, empty directory, removed at the end.
const profile = await chromium.launchPersistentContext("", {
  executablePath,
  headless: true,
  args: [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP *.test 127.0.0.1",
  ],
});
profile.setDefaultTimeout(120_000);

/** A tab that shows twelve drawers: six that all tabs show, and six of its own. */
class Tab {
  /** The revisions of the drawers when the tab began to follow them. */
  base = new Map();

  static async open(number) {
    const tab = new Tab();
    tab.name = `tab ${number + 1}`;
    tab.drawers = [...common, ...own[number]];
    tab.page = await profile.newPage();
    tab.page.on("pageerror", (error) => console.error(tab.name, error));
    await tab.page.goto(`${origin}/`);
    if (number === 0) await tab.login();
    if (process.env.STET_EVENTS_CONSOLE) tab.page.on("console", (message) => console.log(tab.name, message.text()));
    for (const drawer of tab.drawers) tab.base.set(drawer, made.get(drawer));
    await tab.show(tab.drawers);
    await tab.page.waitForFunction(() => desk.following);
    return tab;
  }

  show(drawers) {
    return this.page.evaluate((drawers) => desk.show(drawers), drawers);
  }

  /** Logs in. The browser keeps the cookie for all tabs. */
  async login() {
    const login = (body) => desk.ask("/v3/auth/login", "POST", body);
    const { status } = await this.page.evaluate(login, editor.credentials());
    assert.equal(status, 200);
  }

  /** Returns its drawers whose present revision it does not show. */
  async stale() {
    const shown = await this.page.evaluate(() => {
      const rows = [...document.querySelectorAll("tr")];
      return Object.fromEntries(rows.map(({ id, cells }) => [id, Number(cells[1].textContent)]));
    });
    return this.drawers.filter((drawer) => shown[drawer] !== made.get(drawer));
  }

  /** Returns its drawers that have changes of which it has not been sent an event. */
  async missing() {
    const events = await this.page.evaluate(() => desk.events);
    for (const [drawer, revisions] of Object.entries(events)) {
      const expected = revisions.map((_, index) => this.base.get(drawer) + 1 + index);
      assert.deepEqual(revisions, expected, `${this.name} is sent each change of its drawers once and in order`);
    }
    const count = (drawer) => made.get(drawer) - this.base.get(drawer);
    return this.drawers.filter((drawer) => (events[drawer]?.length ?? 0) !== count(drawer));
  }

  /** Notes what it has been sent so far that is no change. */
  async note() {
    this.noted = await this.page.evaluate(() => desk.others.length);
  }

  /** Waits until it has been sent an event since then: one without a container, or one of each of its drawers. */
  async told(kind, drawers = [undefined]) {
    await until(`${this.name} is told ${kind}`, async () => {
      const others = (await this.page.evaluate(() => desk.others)).slice(this.noted);
      return drawers.every((drawer) => others.some((other) => other.kind === kind && other.container === drawer));
    });
  }
}

async function change(times) {
  for (; times > 0; times -= 1) {
    const drawer = [...made.keys()][roll(made.size)];
    const revision = await editor.change(drawer);
    assert.equal(revision, made.get(drawer) + 1);
    made.set(drawer, revision);
  }
}

/** Waits until each tab shows the present revisions of its drawers, and, if `isSent`, has been sent each change. */
async function caughtUp(tabs, what, isSent = true) {
  let missing;
  await until(() => `all tabs have everything ${what}; missing: ${missing}`, async () => {
    missing = [];
    for (const tab of tabs) {
      const drawers = [...(await tab.stale()), ...(isSent ? await tab.missing() : [])];
      missing.push(...drawers.map((drawer) => `${tab.name}: ${drawer}`));
    }
    return missing.length === 0;
  });
  await until("one stream is open", async () => (await server.streams()) === 1);
}

/** Waits until the stream follows what the tabs show, and nothing else. */
async function followsAlone(tabs) {
  const shown = [...new Set(tabs.flatMap(({ drawers }) => drawers))].sort();
  await until("the stream follows what the tabs show", async () => {
    const { containers } = await editor.call("POST", `/v3/events/${proxy.stream}`, {});
    return JSON.stringify(containers.sort()) === JSON.stringify(shown);
  });
}

const tabs = [];
for (let number = 0; number < 4; number += 1) tabs.push(await Tab.open(number));
await change(60);
await caughtUp(tabs, "at first");
console.log("4 tabs have all changes of 12 drawers each, by one stream");

proxy.cut();
await change(20);
await caughtUp(tabs, "after a cut");

await tabs[0].note();
proxy.refuse(503);
await change(20);
// The stream, and the question for the status, twice.
await until("the worker has tried again", () => proxy.refusals >= 4);
proxy.pass();
await tabs[0].told("following");
await caughtUp(tabs, "after answers of 503");

for (const tab of tabs) await tab.note();
proxy.spoilIds();
// All begins anew.
for (const tab of tabs) await tab.told("hello", tab.drawers);
proxy.pass();
await change(20);
await caughtUp(tabs, "after ids that the server could not read");
console.log("the same after a cut, answers of 503, and ids that the server could not read");

for (let number = 4; number < 7; number += 1) tabs.push(await Tab.open(number));
await change(30);
await caughtUp(tabs, "in seven tabs");
for (const { page, drawers, name } of tabs) {
  const { status } = await page.evaluate((drawer) => desk.ask(`/v3/container/drawer/${drawer}`, "GET"), drawers[0]);
  assert.equal(status, 200, name);
}
assert.equal(await server.streams(), 1);
console.log("7 tabs follow 48 drawers by one stream, and each is answered");
await tabs[6].page.screenshot({ path: join(import.meta.dirname, "tab.png") });

// A drawer that is not there is refused, and named. Without it the tab goes on.
const nowhere = "1$1.0.99999999";
await tabs[0].note();
await tabs[0].show([...tabs[0].drawers, nowhere]);
await tabs[0].told("refused", [nowhere]);
await tabs[0].show(tabs[0].drawers);
await tabs[0].told("following");

// What only a closed tab has shown is left.
const closed = tabs.pop();
await closed.page.goto("about:blank");
await followsAlone(tabs);

// The session ends, and somebody logs in again in one of the tabs.
await tabs[0].note();
await tabs[1].page.evaluate(() => desk.ask("/v3/auth/logout", "GET"));
await tabs[0].told("login");
await tabs[1].login();
for (const tab of tabs) await tab.show(tab.drawers);
await change(20);
await caughtUp(tabs, "after a new login");
console.log("the same after a new login");

// The tabs show other drawers all the time.
for (let round = 0; round < 40; round += 1) {
  const tab = tabs[roll(tabs.length)];
  const shown = new Set();
  while (shown.size < 12) shown.add([...made.keys()][roll(made.size)]);
  tab.drawers = [...shown];
  await tab.show(tab.drawers);
  await change(roll(3));
  if (round % 20 === 10) proxy.cut();
}
await caughtUp(tabs, "after they showed others", false);
await followsAlone(tabs);
console.log("tabs that show others all the time show the present");
for (const { page } of tabs) await page.close();
await until("the stream ends with the last tab", async () => (await server.streams()) === 0);

// A page of another site, to which the browser sends no cookie, follows with a token.
const elsewhere = await profile.newPage();
await elsewhere.goto(`${otherSite}/elsewhere`);
await elsewhere.evaluate(async ([server, credentials, containers]) => {
  const [method, headers] = ["POST", { "content-type": "application/json" }];
  const login = await fetch(`${server}/v3/auth/login`, { method, headers, body: JSON.stringify(credentials) });
  const token = (await login.json()).result.token.value;
  const { follow } = await import("/follow.mjs");
  window.revisions = {};
  const receive = ({ container, revision }, kind) => (window.revisions[container] ??= []).push(kind, revision);
  follow({ server, token, containers, kinds: ["hello", "reset", "drawer.update"], receive });
}, [address, editor.credentials(), common]);
const expected = Object.fromEntries(common.map((drawer) => [drawer, ["hello", made.get(drawer)]]));
const received = async () => {
  const revisions = await elsewhere.evaluate(() => window.revisions);
  return common.every((drawer) => JSON.stringify(revisions[drawer]) === JSON.stringify(expected[drawer]));
};
await until("the page of another site has begun", received);
// The header `Last-Event-ID` of a page is one that the server must allow.
for (const round of ["first", "after a cut"]) {
  for (const drawer of common) expected[drawer].push("drawer.update", await editor.change(drawer));
  await until(`the page of another site has all changes, ${round}`, received);
  proxy.cut();
}
console.log("a page of another site has all changes");
await elsewhere.close();
await until("its stream ends", async () => (await server.streams()) === 0);

// The counter-check: with a stream for each of seven drawers, the seventh stream and all else hang.
const bare = await profile.newPage();
await bare.goto(`${origin}/bare`);
const seven = common.concat(own[0][0]);
await bare.evaluate(([server, drawers]) => {
  window.events = drawers.map(() => 0);
  const sources = drawers.map((drawer, index) => {
    const source = new EventSource(`${server}/v3/container/${drawer}/events`, { withCredentials: true });
    source.addEventListener("drawer.update", () => (window.events[index] += 1));
    return source;
  });
  window.open = () => sources.filter(({ readyState }) => readyState === EventSource.OPEN);
  window.ask = (drawer) => {
    const reply = fetch(`${server}/v3/container/drawer/${drawer}`, { credentials: "include" });
    reply.then(({ status }) => (window.answered = status));
  };
}, [address, seven]);
const opened = () => bare.evaluate(() => window.open().length);
const answered = () => bare.evaluate(() => window.answered);
await until("six streams are open", async () => (await opened()) === MOST_CONNECTIONS);
await bare.evaluate((drawer) => window.ask(drawer), seven[0]);
// Whatever arrives on the six: the seventh and the call wait.
for (let round = 1; round <= 3; round += 1) {
  for (const drawer of seven) await editor.change(drawer);
  await until("six streams have the change", async () => {
    const events = await bare.evaluate(() => window.events);
    return events.filter((count) => count === round).length === MOST_CONNECTIONS;
  });
}
assert.equal(await opened(), MOST_CONNECTIONS, "the seventh stream hangs");
assert.equal(await server.streams(), MOST_CONNECTIONS);
assert.equal(await answered(), undefined, "a call of the page hangs");
await bare.evaluate(() => window.open().slice(0, 2).forEach((source) => source.close()));
await until("the call is answered once there is a connection", async () => (await answered()) === 200);
await until("the seventh stream opens", async () => (await opened()) === MOST_CONNECTIONS - 1);
console.log("with a stream for each, the seventh and all calls of the page hang until one of them is closed");

await profile.close();
server.finish();
