import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger, type LogFormat, type LogWriterOptions } from "./log-writer.ts";
import type { Fields, Logger } from "./logger.ts";

function setUp(format: LogFormat, verbosity = 2, vmodule: LogWriterOptions["vmodule"] = []) {
  const lines: string[] = [];
  const log = createLogger({
    format,
    verbosity,
    vmodule,
    write: (line) => lines.push(line),
    now: () => new Date(2026, 10, 15, 5, 8, 1, 123),
    pid: 42,
  });
  return { log, lines };
}

const loop: Record<string, unknown> = {};
loop.self = loop;

const text: [rule: string, emit: (log: Logger) => void, expected: string][] = [
  ["severity, time, pid and message", (log) => log.info("hello"), 'I1115 05:08:01.123000      42 "hello"'],
  ["warnings", (log) => log.warn("hm"), 'W1115 05:08:01.123000      42 "hm"'],
  ["errors", (log) => log.error("oh"), 'E1115 05:08:01.123000      42 "oh"'],
  [
    "strings are quoted, numbers and booleans are not, undefined fields are omitted",
    (log) => log.info("m", { pod: "a/b", count: 3, ok: true, none: undefined }),
    'I1115 05:08:01.123000      42 "m" pod="a/b" count=3 ok=true',
  ],
  [
    "an error as a field is its message",
    (log) => log.info("m", { err: new Error('x "y"') }),
    'I1115 05:08:01.123000      42 "m" err="x \\"y\\""',
  ],
  [
    "a message with any characters is one line",
    (log) => log.info("a\nb", { k: "c\nd" }),
    'I1115 05:08:01.123000      42 "a\\nb" k="c\\nd"',
  ],
  [
    "bound fields come first, and a later one wins",
    (log) =>
      log
        .with({ pod: "p", podUID: "u" })
        .with({ podUID: "v" })
        .info("m", { x: [1, "2"] }),
    'I1115 05:08:01.123000      42 "m" pod="p" podUID="v" x=[1,"2"]',
  ],
  [
    "large numbers",
    (log) => log.info("m", { bytes: 1n << 60n }),
    'I1115 05:08:01.123000      42 "m" bytes=1152921504606846976',
  ],
];
// The line number in the header is covered by another test.
const callSite = /log-writer\.test\.ts:\d+\] /;
for (const [rule, emit, expected] of text)
  test(`text log: ${rule}`, () => {
    const { log, lines } = setUp("text");
    emit(log);
    assert.match(lines[0] ?? "", callSite);
    assert.deepEqual(
      lines.map((line) => line.replace(callSite, "")),
      [`${expected}\n`],
    );
  });

const ts = new Date(2026, 10, 15, 5, 8, 1, 123).getTime();
const json: [rule: string, emit: (log: Logger) => void, expected: Fields][] = [
  ["info has its verbosity", (log) => log.info("m", { pod: "p" }), { ts, msg: "m", v: 0, pod: "p" }],
  ["debug has its verbosity", (log) => log.debug(2, "m"), { ts, msg: "m", v: 2 }],
  ["warnings have their severity", (log) => log.warn("m"), { ts, msg: "m", level: "warning" }],
  ["errors have their message", (log) => log.error("m", { err: new Error("x") }), { ts, msg: "m", err: "x" }],
  ["large numbers", (log) => log.info("m", { bytes: 5n }), { ts, msg: "m", v: 0, bytes: "5" }],
];
// parity: field logging.format as format
for (const [rule, emit, expected] of json)
  test(`JSON log: ${rule}`, () => {
    const { log, lines } = setUp("json");
    emit(log);
    assert.equal(lines.length, 1);
    const { caller, ...rest } = JSON.parse(lines[0]!) as Fields;
    assert.match(String(caller), /^base\/log-writer\.test\.ts:\d+$/);
    assert.deepEqual(rest, expected);
    assert.ok(lines[0]!.endsWith("}\n"));
  });

for (const format of ["text", "json"] as const)
  test(`${format} log: a value that cannot be serialized does not throw`, () => {
    const { log, lines } = setUp(format);
    log.info("m", { loop });
    log.info("m", { deep: { size: 1n } });
    assert.equal(lines.length, 2);
  });

// parity: field logging.verbosity as verbosity
test("debug lines above the verbosity are not written", () => {
  const { log, lines } = setUp("text", 3);
  log.debug(4, "no");
  log.debug(3, "yes");
  log.with({ a: 1 }).debug(4, "no");
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^I.*"yes"\n$/);
});

test("lines name file and line of their call, even for a logger with bound fields", () => {
  const { log, lines } = setUp("text");
  const here = Number(/log-writer\.test\.ts:(\d+)/.exec(new Error().stack ?? "")?.[1]);
  log.info("a");
  log.with({ a: 1 }).with({ b: 2 }).error("b");
  log.debug(2, "c");
  const named = lines.map((line) => Number(/\.ts:(\d+)\]/.exec(line)?.[1]) - here);
  assert.deepEqual(named, [1, 2, 3]);
});

const modules: [patterns: string, want: string[]][] = [
  ["", ["1"]],
  ["log-writer.test=3", ["1", "3"]],
  ["log-*=9", ["1", "3", "9"]],
  ["log-?riter[.]test=3", ["1", "3"]],
  ["other=9", ["1"]],
  ["log-writer=9", ["1"]],
  ["log-*=3,log-writer.test=9", ["1", "3"]],
];
// parity: field logging.vmodule as vmodule
for (const [patterns, want] of modules)
  test(`with verbosity 2 and vmodule ${JSON.stringify(patterns)}, this file logs levels ${want}`, () => {
    const vmodule = patterns.split(",").flatMap((item) => {
      const [filePattern = "", verbosity] = item.split("=");
      return filePattern === "" ? [] : [{ filePattern, verbosity: Number(verbosity) }];
    });
    const { log, lines } = setUp("text", 2, vmodule);
    for (const level of [1, 3, 9]) log.debug(level, String(level));
    assert.deepEqual(
      lines.map((line) => /"(\d)"$/.exec(line.trimEnd())?.[1]),
      want,
    );
  });

for (const format of ["text", "json"] as const)
  test(`a long message and long fields are shortened as ${format}`, () => {
    const { log, lines } = setUp(format);
    const long = "x".repeat(2_000_000);
    log.info(long, { text: long, err: new Error(long), list: [long], kept: "short" });
    assert.ok(lines[0]!.length < 70_000, `${lines[0]!.length} characters`);
    assert.match(lines[0]!, /x… \(2000000 characters\)/);
    assert.match(lines[0]!, /short/);
  });
