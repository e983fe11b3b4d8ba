import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeletError } from "../../base/errors.ts";
import { memoryOf } from "../../base/fixtures.ts";
import { LineSplitter, parseWatchEvent } from "./watch-stream.ts";

const text = '{"a":"é€😀"}\n\n{"b":2}\nrest';

test("lines are the same wherever the bytes are split, even inside a character", () => {
  const bytes = Buffer.from(text);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const splitter = new LineSplitter();
    const lines = [...splitter.push(bytes.subarray(0, cut)), ...splitter.push(bytes.subarray(cut))];
    assert.deepEqual(lines, ['{"a":"é€😀"}', "", '{"b":2}'], `cut at ${cut}`);
  }
});

test("lines are the same byte by byte, and an incomplete line is buffered", () => {
  const splitter = new LineSplitter();
  const lines = [...Buffer.from(text)].flatMap((byte) => [...splitter.push(Buffer.of(byte))]);
  assert.deepEqual(lines, ['{"a":"é€😀"}', "", '{"b":2}']);
  assert.deepEqual([...splitter.push(Buffer.from("\n"))], ["rest"]);
});

test("a line has a limit, in one chunk and in many", () => {
  const tooLong = (error: unknown) => error instanceof KubeletError && error.code === "MalformedWatch";
  const line = Buffer.from("12345678\n");
  const splitter = new LineSplitter(8);
  for (let i = 0; i < 3; i++) assert.deepEqual([...splitter.push(line)], ["12345678"]);
  assert.throws(() => [...splitter.push(Buffer.from("123456789\n"))], tooLong);
  const slow = new LineSplitter(8);
  assert.deepEqual([...slow.push(Buffer.from("12345"))], []);
  assert.throws(() => [...slow.push(Buffer.from("6789"))], tooLong);
});

test("an incomplete line takes memory in proportion to its length, even if it arrives byte by byte", () => {
  const count = 200_000;
  const splitter = new LineSplitter();
  const grown = memoryOf(() => {
    // A copy, as from a socket: a view would use no memory.
    for (let i = 0; i < count; i++) assert.deepEqual([...splitter.push(Buffer.from("x"))], []);
    return splitter;
  });
  assert.ok(grown < 30 * count, `${grown} bytes for ${count}`);
});

test("objects are passed unchanged", () => {
  const object = { metadata: { name: "a" }, spec: { x: 1 } };
  for (const type of ["ADDED", "MODIFIED", "DELETED"])
    assert.deepEqual(parseWatchEvent(JSON.stringify({ type, object })), { type, object });
});

test("a bookmark has its version, and whether it ends the initial events", () => {
  const bookmark = (metadata: object) =>
    parseWatchEvent(JSON.stringify({ type: "BOOKMARK", object: { metadata } }));
  const plain = { type: "BOOKMARK", resourceVersion: "7", initialEventsEnd: false };
  assert.deepEqual(bookmark({ resourceVersion: "7" }), plain);
  assert.deepEqual(bookmark({ resourceVersion: "7", annotations: { other: "true" } }), plain);
  assert.deepEqual(bookmark({ resourceVersion: "7", annotations: { "k8s.io/initial-events-end": "true" } }), {
    ...plain,
    initialEventsEnd: true,
  });
});

test("an ERROR is a KubeApiError", () => {
  const object = {
    kind: "Status",
    code: 429,
    reason: "TooManyRequests",
    message: "later",
    details: { retryAfterSeconds: 3 },
  };
  const event = parseWatchEvent(JSON.stringify({ type: "ERROR", object }));
  assert.ok(event?.type === "ERROR");
  const { status, reason, message, retryAfterMs } = event.error;
  assert.deepEqual(
    { status, reason, message, retryAfterMs },
    { status: 429, reason: "TooManyRequests", message: "later", retryAfterMs: 3000 },
  );
});

test("an ERROR without details is a server error", () => {
  const event = parseWatchEvent('{"type":"ERROR","object":{}}');
  assert.ok(event?.type === "ERROR");
  assert.equal(event.error.status, 500);
});

test("an empty line is ignored", () => assert.equal(parseWatchEvent(" \r"), undefined));

const garbled = [
  '{"type":"ADDED","object"',
  "null",
  "7",
  '{"type":"ADDED"}',
  '{"type":"ADDED","object":null}',
  '{"type":"RENAMED","object":{}}',
  '{"object":{}}',
  '{"type":"BOOKMARK","object":{"metadata":{}}}',
];

for (const line of garbled)
  test(`${line} is not an event`, () => {
    assert.throws(() => parseWatchEvent(line), { code: "MalformedWatch" });
  });
