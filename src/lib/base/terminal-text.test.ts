import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger } from "./log-writer.ts";
import { printableLines, terminalJson } from "./terminal-text.ts";

/** Escape sequences with C0 and C1 characters, DEL, a right-to-left override, and one beyond the basic plane. */
const hostile = "a\x1b[2J\x9b2J\x7f\u202e\u{e0001}ü\u{1f600}\nb";
const interpreted = /[\p{Cc}\p{Cf}]/u;

test("JSON for a terminal has no characters that it interprets, and the same value", () => {
  const json = terminalJson({ hostile });
  assert.doesNotMatch(json, interpreted);
  assert.deepEqual(JSON.parse(json), { hostile });
  assert.ok(json.includes("ü\u{1f600}"), "other characters are unchanged");
});

test("text for a terminal keeps only its line breaks", () => {
  assert.equal(printableLines(hostile), "a [2J 2J ü\u{1f600}\nb");
});

for (const format of ["text", "json"] as const)
  test(`a value in a log as ${format} cannot control the terminal, nor begin a line`, () => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    const logger = createLogger({ format, verbosity: 0, write, now: () => new Date(0), pid: 1 });
    logger.info("Message", { text: hostile, list: [hostile], err: new Error(hostile) });
    assert.equal(lines.length, 1);
    assert.doesNotMatch(lines[0]!.slice(0, -1), interpreted);
  });
