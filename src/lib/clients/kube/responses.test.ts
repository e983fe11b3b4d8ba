import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, it, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { retryAfterOf } from "../../base/errors.ts";
import { usedMemory } from "../../base/fixtures.ts";
import { wallTime } from "../../base/time.ts";
import { apiError, KubeApiError, retryAfterMs, TransportError } from "./api-error.ts";
import { readText } from "./body.ts";
import { ConnectionLost } from "./server-connection.ts";
import { maxTries, retryAfter } from "./transport.ts";
import { warningTexts } from "./warnings.ts";
import { parseWatchEvent } from "./watch-stream.ts";

const now = Date.UTC(2026, 0, 1);

describe("apiError", () => {
  const status = (fields: object) => JSON.stringify({ kind: "Status", ...fields });
  const cases: { name: string; code: number; body: string; retryAfter?: string; expected: unknown[] }[] = [
    {
      name: "a Status has everything",
      code: 409,
      body: status({ reason: "AlreadyExists", message: 'pods "a" already exists', details: { name: "a" } }),
      expected: ["AlreadyExists", 'pods "a" already exists', undefined],
    },
    {
      name: "a text body keeps its message and gets the reason of its status code",
      code: 503,
      body: " upstream is down\n",
      expected: ["ServiceUnavailable", "upstream is down", undefined],
    },
    {
      name: "without a body the message names the request",
      code: 404,
      body: "",
      expected: ["NotFound", "GET https://api/x: 404 Not Found", undefined],
    },
    {
      name: "a Status without a message names the request",
      code: 500,
      body: status({}),
      expected: ["InternalError", "GET https://api/x: 500 Internal Server Error", undefined],
    },
    {
      name: "an unknown number",
      code: 299 + 300,
      body: "",
      expected: ["Unknown", "GET https://api/x: 599 unknown status", undefined],
    },
    {
      name: "Retry-After in seconds",
      code: 429,
      body: "slow",
      retryAfter: "3",
      expected: ["TooManyRequests", "slow", 3000],
    },
    {
      name: "Retry-After in the Status",
      code: 429,
      body: status({ message: "slow", details: { retryAfterSeconds: 7 } }),
      expected: ["TooManyRequests", "slow", 7000],
    },
    {
      name: "other JSON is a text",
      code: 400,
      body: '{"a":1}',
      expected: ["BadRequest", '{"a":1}', undefined],
    },
  ];
  for (const { name, code, body, retryAfter: header, expected } of cases) {
    it(name, () => {
      const error = apiError({
        method: "GET",
        url: "https://api/x",
        status: code,
        retryAfter: header,
        body,
        now: wallTime(now),
      });
      assert.deepEqual([error.reason, error.message, error.retryAfterMs], expected);
      assert.equal(error.status, code);
    });
  }
});

test("texts of a server that are too long are cut", () => {
  const long = "m".repeat(1_000_000);
  const object = { kind: "Status", code: 410, message: long, reason: long };
  const body = JSON.stringify(object);
  const error = apiError({ method: "GET", url: "https://api/x", status: 410, body, now: wallTime(now) });
  const event = parseWatchEvent(JSON.stringify({ type: "ERROR", object }));
  assert.ok(event?.type === "ERROR");
  for (const { message, reason } of [error, event.error])
    assert.deepEqual([message.length, reason.length], [10 * 1024, 256]);
});

describe("retryAfterMs", () => {
  const cases: [string | undefined, number | undefined][] = [
    [undefined, undefined],
    ["", undefined],
    ["0", 0],
    ["120", 120_000],
    ["Thu, 01 Jan 2026 00:00:10 GMT", 10_000],
    ["Thu, 01 Jan 2025 00:00:10 GMT", 0],
    ["later", undefined],
  ];
  for (const [header, ms] of cases)
    it(`${header} is ${ms}`, () => assert.equal(retryAfterMs(header, wallTime(now)), ms));
});

describe("the details of a Status", () => {
  const detailsOf = (details: unknown) =>
    apiError({
      method: "GET",
      url: "https://api/x",
      status: 403,
      now: wallTime(now),
      body: JSON.stringify({ kind: "Status", details }),
    }).details;
  const cases: [string, unknown, unknown][] = [
    ["no object", "later", undefined],
    ["a list", [1], undefined],
    [
      "all fields",
      { name: "a", kind: "pods", uid: "1", retryAfterSeconds: 2, causes: [{ reason: "r", field: "f" }] },
      { name: "a", kind: "pods", uid: "1", retryAfterSeconds: 2, causes: [{ reason: "r", field: "f" }] },
    ],
    ["fields of other types", { name: 1, retryAfterSeconds: "2", causes: 5 }, {}],
    [
      "causes that are none",
      { causes: [null, 5, "x", { reason: 1, message: "m" }] },
      { causes: [{ message: "m" }] },
    ],
  ];
  for (const [what, details, expected] of cases)
    it(`are read from ${what}`, () => assert.deepEqual(detailsOf(details), expected));

  it("of an event of a watch are read in the same way", () => {
    const object = { kind: "Status", code: 410, details: { causes: [null], retryAfterSeconds: "x" } };
    const event = parseWatchEvent(JSON.stringify({ type: "ERROR", object }));
    assert.ok(event?.type === "ERROR");
    assert.deepEqual([event.error.details, event.error.retryAfterMs], [{ causes: [] }, undefined]);
  });

  it("Retry-After is at most a minute for those that write", () => {
    const error = (body: object) =>
      apiError({
        method: "GET",
        url: "https://api/x",
        status: 429,
        now: wallTime(now),
        body: JSON.stringify({ kind: "Status", ...body }),
      });
    assert.equal(retryAfterOf(error({ details: { retryAfterSeconds: 31_536_000 } })), 60_000);
    assert.equal(retryAfterOf(error({ details: { retryAfterSeconds: 3 } })), 3000);
  });
});

describe("retryAfter", () => {
  const api = (status: number, ms?: number) =>
    new KubeApiError({ status, reason: "x", message: "x", ...(ms !== undefined && { retryAfterMs: ms }) });
  const lost = (unprocessed: boolean, reused: boolean) => new ConnectionLost("lost", { unprocessed, reused });
  const cases: {
    name: string;
    failure: unknown;
    tries?: number;
    method?: string;
    wait: number | undefined;
  }[] = [
    { name: "429 with Retry-After", failure: api(429, 2000), wait: 2000 },
    { name: "503 with Retry-After", failure: api(503, 1000), wait: 1000 },
    { name: "429 without Retry-After", failure: api(429), wait: undefined },
    { name: "a rejection, even one with Retry-After", failure: api(409, 1000), wait: undefined },
    { name: "a wait that is too long is left to the caller", failure: api(429, 31_000), wait: undefined },
    { name: "no retry after the last attempt", failure: api(429, 1000), tries: maxTries, wait: undefined },
    { name: "a POST that the server did not process", failure: lost(true, true), method: "POST", wait: 0 },
    {
      name: "a POST that it may have processed",
      failure: lost(false, true),
      method: "POST",
      wait: undefined,
    },
    { name: "a GET on a reused connection", failure: lost(false, true), wait: 0 },
    { name: "a GET on a new connection", failure: lost(false, false), wait: undefined },
    { name: "a connection lost for the third time", failure: lost(true, true), tries: 3, wait: undefined },
    { name: "no response", failure: new Error("ECONNREFUSED"), wait: undefined },
    { name: "no response in time", failure: new TransportError("late"), wait: undefined },
  ];
  for (const { name, failure, tries = 1, method = "GET", wait } of cases) {
    it(`${name}: ${wait === undefined ? "no retry" : `again in ${wait} ms`}`, () =>
      assert.equal(retryAfter(failure, tries, method), wait));
  }
});

describe("warningTexts", () => {
  const cases: [string, string[]][] = [
    ['299 - "v1beta1 is deprecated"', ["v1beta1 is deprecated"]],
    ['299 - "a, b", 299 api "quote \\"c\\""', ["a, b", 'quote "c"']],
    ['199 - "other"', []],
    ["", []],
  ];
  for (const [header, texts] of cases)
    it(header || "nothing", () => assert.deepEqual(warningTexts(header), texts));
});

describe("readText", () => {
  it("takes memory in proportion to the length of a body, even if it arrives byte by byte", async () => {
    const count = 200_000;
    let grown = 0;
    async function* bytes() {
      const before = usedMemory();
      for (let i = 0; i < count; i++) yield Buffer.alloc(1, "x");
      await turn();
      grown = usedMemory() - before;
    }
    const body = Readable.from(bytes(), { objectMode: true });
    const text = await readText({ status: 200, headers: {}, body, isWhole: () => true }, count);
    assert.equal(text.length, count);
    assert.ok(grown < 30 * count, `${grown} bytes for ${count}`);
  });
});
