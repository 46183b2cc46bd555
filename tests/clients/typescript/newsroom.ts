// A client of types generated from the OpenAPI document does a day's work: logs in, fills a drawer, changes it, uploads a picture.
// Arguments: the server's base URL. The password of `admin` is in STET_ADMIN_PASSWORD.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./stet.js";

const base = process.argv[2] ?? "";
const password = process.env["STET_ADMIN_PASSWORD"] ?? "";
const folderPath = `/Test/typescript-${randomUUID()}`;
// The media type: what the short replies of `Prefer` look like is then no part of the types.
const client = createClient<paths, "application/json">({ baseUrl: base });

/** The result of a success. */
function result<T>(answer: { data?: { result: T }; error?: unknown; response: Response }): T {
  assert.equal(answer.response.status, 200, JSON.stringify(answer.error));
  assert(answer.data);
  return answer.data.result;
}

/** A failure must be of this status and code. */
function fails(answer: { error?: unknown; response: Response }, status: number, code: string): void {
  assert.equal(answer.response.status, status, JSON.stringify(answer.error));
  const failure = answer.error as components["schemas"]["Failure"];
  assert.equal(failure.result.code, `CMS.${code}`);
}

/** Creates an object of a file; gives its record. */
async function upload(name: string, content: Blob, key?: string) {
  const answer = await client.POST("/v3/object/create", {
    params: { header: key === undefined ? {} : { "Idempotency-Key": key } },
    body: { options: { name, folderPath }, content },
    bodySerializer: (body) => {
      const form = new FormData();
      form.append("options", JSON.stringify(body.options));
      // The document has objects without a content, too.
      if (body.content) form.append("content", body.content, name);
      return form;
    },
  });
  return result(answer);
}

function login(password: string) {
  const body = { applicationId: "clients", connectionId: "Editorial", username: "admin", password };
  return client.POST("/v3/auth/login", { body });
}

fails(await login("wrong"), 401, "InvalidLogin");
const token = result(await login(password)).token.value;
client.use({
  onRequest: ({ request }) => {
    request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
});
assert(result(await client.GET("/v3/auth/connection/check")).alive);

// A drawer with two stories.
const story = new Blob(["<story/>"], { type: "text/xml" });
const stories = [await upload("ferry.xml", story), await upload("harbour.xml", story)];
const made = await client.POST("/v3/container/drawer", { body: { name: "desk", folderPath, capacity: 5 } });
const drawer = result(made).info;
const added = await client.POST("/v3/container/drawer/{source}/item", {
  params: { path: { source: drawer.id } },
  body: { sources: stories.map((story) => story.id) },
});
assert.deepEqual(result(added).items.map((item) => item.source), stories.map((story) => story.id));

// Read by path, a page of it, and again with what is known.
const path = { source: `${folderPath}/desk` };
const query = { showItems: true, limit: 1, offset: 1, showPath: true };
const read = await client.GET("/v3/container/drawer/{source}", { params: { path, query } });
assert.deepEqual(result(read).items.map((item) => item.object?.name), ["harbour.xml"]);
assert.equal(result(read).info.path, path.source);
const tag = read.response.headers.get("etag") ?? "";
const again = await client.GET("/v3/container/drawer/{source}", {
  params: { path, query, header: { "If-None-Match": tag } },
});
assert.equal(again.response.status, 304);

// A change of what was read, and one of what has changed since.
const retitle = (title: string) =>
  client.PUT("/v3/container/drawer/{source}", { params: { path, header: { "If-Match": tag } }, body: { title } });
const { info: morning } = result(await retitle("Morning"));
// Of a drawer that others have removed since, the reply tells the id alone.
assert("title" in morning && morning.title === "Morning");
fails(await retitle("Evening"), 412, "PreconditionFailed");

// A picture, once however often it is sent, and the bytes that come back. It has one pixel.
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const png = Buffer.from(pixel, "base64");
const sent = await upload("ferry.png", new Blob([png], { type: "image/png" }), "ferry-of-typescript");
const repeated = await upload("ferry.png", new Blob([png], { type: "image/png" }), "ferry-of-typescript");
assert.equal(sent.id, repeated.id);
const whole = await client.GET("/v3/object/{source}/content/binary", {
  params: { path: { source: sent.id } },
  parseAs: "blob",
});
assert.equal(whole.response.headers.get("content-type"), "image/png");
assert(whole.data);
assert(Buffer.from(await whole.data.arrayBuffer()).equals(png));

const nothing = { path: { source: `${folderPath}/nothing` } };
fails(await client.GET("/v3/object/{source}", { params: nothing }), 404, "ObjectNotFound");
await client.GET("/v3/auth/logout");
fails(await client.GET("/v3/auth/connection/check"), 401, "InvalidToken");
