import assert from "node:assert/strict";
import { test } from "node:test";
import { LogLines, splitMatches } from "./log-lines.ts";

const texts = (log: LogLines) => log.lines.map(({ text }) => text);

test("lines that arrive in chunks are whole", () => {
  const log = new LogLines();
  log.append("a\nb");
  assert.deepEqual(texts(log), ["a"]);
  log.append("c\n\nd");
  assert.deepEqual(texts(log), ["a", "bc", ""]);
  log.end();
  assert.deepEqual(texts(log), ["a", "bc", "", "d"]);
});

test("the timestamp of a line is separate from its text", () => {
  const log = new LogLines();
  log.append("2026-11-17T12:00:00.123456789Z hello 1\nno time\n");
  assert.deepEqual(
    log.lines.map(({ time, text }) => [time, text]),
    [
      ["2026-11-17T12:00:00.123456789Z", "hello 1"],
      ["", "no time"],
    ],
  );
});

test("control characters and colors are removed, tabs are kept", () => {
  const log = new LogLines();
  log.append("\x1b[31mred\x1b[0m\tend\r\n\x1b]0;title\x07x\n");
  assert.deepEqual(texts(log), ["red\tend", "x"]);
});

test("the last 5000 lines are kept, and a line without a newline is truncated", () => {
  const log = new LogLines();
  log.append("x\n".repeat(5_010));
  assert.deepEqual([log.lines.length, log.dropped, log.lines[0]?.id], [5_000, 10, 10]);
  log.append("y".repeat(20_000));
  assert.equal(log.lines.at(-1)?.text.length, 10_000);
});

test("matches of a search are at odd positions", () => {
  assert.deepEqual(splitMatches("GET /get", "get"), ["", "GET", " /", "get", ""]);
  assert.deepEqual(splitMatches("abc", ""), ["abc"]);
  assert.deepEqual(splitMatches("abc", "x"), ["abc"]);
});
