import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../../lib/base/clock.ts";
import { FakeLog } from "./fake-log.ts";
import { parseLogTime } from "./log-time.ts";
import { streamLog } from "./stream-log.ts";

function fakeLog(t: TestContext): FakeLog {
  const log = new FakeLog();
  t.after(() => log.remove());
  return log;
}

const T = "2026-01-01T00:00:00";

for (const { name, text, options, expected } of [
  { name: "an empty log is empty", text: "", expected: "" },
  { name: "text is shown without its head", text: `${T}Z stdout F hello  you \n`, expected: "hello  you \n" },
  { name: "an empty line is kept", text: `${T}Z stdout F \n${T}Z stdout F x\n`, expected: "\nx\n" },
  {
    name: "partial entries of a line are joined",
    text: `${T}Z stdout P a\n${T}Z stdout P:more b\n${T}Z stdout F c\n`,
    expected: "abc\n",
  },
  {
    name: "a line that another stream's entry interrupted is joined",
    text: `${T}Z stdout P one \n${T}Z stderr F err\n${T}Z stdout F two\n`,
    expected: "one two\nerr\n",
  },
  {
    name: "an unterminated last line has no newline",
    text: `${T}Z stdout F a\n${T}Z stdout P b\n`,
    expected: "a\nb",
  },
  {
    name: "the written part of an incomplete entry is shown",
    text: `${T}Z stdout F ab`,
    expected: "ab",
  },
  {
    name: "an invalid entry is skipped",
    text: `garbage\n\n${T}Z stdnot F x\n${T}Z stdout\n2026 stdout F x\n${T}Z stderr F good\n`,
    expected: "good\n",
  },
  {
    name: "entries of Docker's own format are read",
    text: `{"log":"a\\n","stream":"stdout","time":"${T}Z"}\n{"log":"b","stream":"stderr","time":"${T}.5Z"}\n`,
    options: { timestamps: true },
    expected: `${T}.000000000Z a\n${T}.500000000Z b`,
  },
  {
    name: "times are shown with nine digits, in their own zone, once a line",
    text: `${T}.25+02:00 stdout P a\n${T}.3Z stdout F b\n${T}.123456789Z stdout F c\n${T}+00:00 stderr F d\n`,
    options: { timestamps: true },
    expected: `${T}.250000000+02:00 ab\n${T}.123456789Z c\n${T}.000000000Z d\n`,
  },
  {
    name: "since leaves out lines that began earlier, to the nanosecond",
    text: `${T}.000000001Z stdout P a\n${T}.000000005Z stdout F b\n${T}.000000002Z stdout F c\n02026 x\n`,
    options: { since: parseLogTime(`${T}.000000002Z`)! },
    expected: "c\n",
  },
  {
    name: "since compares times across zones",
    text: `${T}+02:00 stdout F early\n${T}-02:00 stdout F late\n`,
    options: { since: parseLogTime(`${T}Z`)! },
    expected: "late\n",
  },
  {
    name: "a limit truncates within a line",
    text: `${T}Z stdout F abcdef\n`,
    options: { limitBytes: 4 },
    expected: "abcd",
  },
  {
    name: "times count in the limit",
    text: `${T}Z stdout F abcdef\n`,
    options: { limitBytes: 33, timestamps: true },
    expected: `${T}.000000000Z ab`,
  },
  {
    name: "one stream alone",
    text: `${T}Z stdout F a\n${T}Z stderr F b\n`,
    options: { stream: "stderr" as const },
    expected: "b\n",
  },
  {
    name: "a tail counts lines, not partial entries",
    text: `${T}Z stdout F a\n${T}Z stdout P b\n${T}Z stdout F c\n${T}Z stdout F d\n`,
    options: { tailLines: 2 },
    expected: "bc\nd\n",
  },
  {
    name: "a tail omits entries between the partial entries of its first line",
    text: `${T}Z stderr P x\n${T}Z stdout P a\n${T}Z stderr F y\n${T}Z stdout F b\n`,
    options: { tailLines: 1 },
    expected: "ab\n",
  },
  { name: "a tail of zero lines", text: `${T}Z stdout F a\n`, options: { tailLines: 0 }, expected: "" },
  {
    name: "a tail of more lines than exist",
    text: `${T}Z stdout F a\n`,
    options: { tailLines: 9 },
    expected: "a\n",
  },
]) {
  test(name, async (t) => {
    const log = fakeLog(t);
    log.write(text);
    assert.equal(await log.read(options), expected);
  });
}

test("a log includes all rotated files, compressed or not", async (t) => {
  const log = fakeLog(t);
  for (const text of ["one", "two", "three"]) {
    log.entry(`${text} a`);
    log.entry(`${text} b`);
    const name = log.rotate();
    if (text !== "three") log.compress(name);
  }
  log.entry("four");
  const all = ["one", "two", "three"].flatMap((text) => [`${text} a\n`, `${text} b\n`]).concat("four\n");
  assert.equal(await log.read(), all.join(""));
  for (let lines = 0; lines <= 8; lines++)
    assert.equal(await log.read({ tailLines: lines }), all.slice(Math.max(0, 7 - lines)).join(""));
});

test("a file that is both plain and compressed is read once; partial and unrelated files are skipped", async (t) => {
  const log = fakeLog(t);
  log.entry("old");
  const name = log.rotate();
  log.append(`${name}.gz`, "a partial compression");
  log.append(`${name}.tmp`, "2026-01-01T00:00:00Z stdout F half\n");
  log.append("0.log.bak", "2026-01-01T00:00:00Z stdout F stranger\n");
  log.append("1.log", "2026-01-01T00:00:00Z stdout F other\n");
  log.entry("new");
  assert.equal(await log.read(), "old\nnew\n");
});

test("a corrupt compressed file does not affect the others", async (t) => {
  const log = fakeLog(t);
  log.entry("old");
  const name = log.rotate();
  rmSync(join(log.dir, name));
  log.append(`${name}.gz`, "no gzip");
  log.entry("new");
  assert.equal(await log.read(), "new\n");
  assert.equal(await log.read({ tailLines: 5 }), "new\n");
});

test("a rotated name that is not a regular file is skipped, and nothing waits for the other end of a pipe", async (t) => {
  const log = fakeLog(t);
  log.entry("old");
  const name = log.rotate();
  rmSync(join(log.dir, name));
  execFileSync("mkfifo", [join(log.dir, `${name}.gz`)]);
  mkdirSync(join(log.dir, log.rotate()).concat(".d"));
  log.entry("new");
  // As many opens of a pipe as the thread pool has threads would block every other file operation of the process.
  for (const options of [{}, { tailLines: 5 }]) assert.equal(await log.read(options), "new\n");
});

test("a line continues from one file to the next", async (t) => {
  const log = fakeLog(t);
  log.entry("before");
  log.entry("first ", { tag: "P" });
  log.compress(log.rotate());
  log.entry("second ", { tag: "P" });
  log.rotate();
  log.entry("third");
  assert.equal(await log.read(), "before\nfirst second third\n");
  assert.equal(await log.read({ tailLines: 1 }), "first second third\n");
});

test("an entry truncated by a crash does not affect the first entry of the next file", async (t) => {
  const log = fakeLog(t);
  log.write(`${T}Z stdout F cut o`);
  log.rotate();
  log.entry("next");
  assert.equal(await log.read(), "cut o\nnext\n");
});

test("entries across blocks and entries longer than a block are complete", async (t) => {
  const log = fakeLog(t);
  const texts = Array.from({ length: 400 }, (_, i) => `${i}:${"x".repeat((i * 7919) % 3000)}`);
  texts.push("y".repeat(900_000), "z".repeat(1_200_000), "end");
  for (const text of texts) log.entry(text);
  assert.equal(await log.read(), `${texts.join("\n")}\n`);
  for (const lines of [1, 2, 3, 4, 57, 402])
    assert.equal(await log.read({ tailLines: lines }), `${texts.slice(-lines).join("\n")}\n`);
});

test("entries of the other stream do not wait forever for the end of a line", async (t) => {
  const log = fakeLog(t);
  log.entry("prompt> ", { tag: "P" });
  const errors = Array.from({ length: 100 }, (_, i) => `${i} ${"e".repeat(1000)}`);
  for (const text of errors) log.entry(text, { stream: "stderr" });
  log.entry("response");
  const text = await log.read();
  assert.ok(text.startsWith("prompt> 0 eee"));
  assert.equal(text.length, `prompt> ${errors.join("\n")}\nresponse\n`.length);
});

test("a log is found behind a link", async (t) => {
  const log = fakeLog(t);
  log.entry("x");
  const link = join(log.dir, "link");
  symlinkSync(log.path, link);
  const parts: string[] = [];
  await streamLog(link, {
    write: async (bytes) => void parts.push(bytes.toString()),
    signal: new AbortController().signal,
    clock: { ...systemClock, after: () => () => {} },
  });
  assert.deepEqual(parts, ["x\n"]);
});

test("a missing log is reported with its path", async (t) => {
  const log = fakeLog(t);
  rmSync(log.path);
  await assert.rejects(log.read(), {
    message: `failed to try resolving symlinks in path "${log.path}": lstat ${log.path}: no such file or directory`,
  });
});

test("since reads no file that was last modified before", async (t) => {
  const log = fakeLog(t);
  const now = Date.UTC(2026, 5, 1);
  // Its entries would be shown, if they were read.
  log.entry("not read", { at: now });
  const skipped = log.rotate();
  log.entry("old", { at: now - 60_000 });
  log.entry("newer", { at: now });
  const rotated = log.rotate();
  utimesSync(join(log.dir, skipped), (now - 30_000) / 1000, (now - 30_000) / 1000);
  utimesSync(join(log.dir, rotated), now / 1000, now / 1000);
  log.entry("newest", { at: now });
  assert.equal(await log.read({ since: { ms: now - 10_000, nanos: 0 } }), "newer\nnewest\n");
});
