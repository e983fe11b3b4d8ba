import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFile, mkdtemp, open, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type TailOptions, tailLog } from "./container-log.ts";

const dir = await mkdtemp(join(tmpdir(), "container-log-"));
after(() => rm(dir, { recursive: true }));

const time = "2026-01-02T03:04:05.123456789Z";
const out = (text: string, tag = "F") => `${time} stdout ${tag} ${text}\n`;
const err = (text: string, tag = "F") => `${time} stderr ${tag} ${text}\n`;
const many = Array.from({ length: 20_000 }, (_, i) => out(`line ${i}`)).join("");
const all: TailOptions = { bytes: 1e9 };
const long = "x".repeat(300_000);

const table: [rule: string, log: string | Buffer, options: TailOptions, text: string][] = [
  ["lines as the container wrote them", out("a") + err("b"), all, "a\nb\n"],
  ["an empty file", "", all, ""],
  ["empty lines", out("") + out("a") + out(""), all, "\na\n\n"],
  ["spaces belong to the text", out("  a  b "), all, "  a  b \n"],
  ["the last lines", out("a") + out("b") + out("c"), { ...all, lines: 2 }, "b\nc\n"],
  ["fewer lines than requested", out("a"), { ...all, lines: 5 }, "a\n"],
  ["no lines", out("a"), { ...all, lines: 0 }, ""],
  ["the last lines of a file of many chunks", many, { ...all, lines: 2 }, "line 19998\nline 19999\n"],
  ["the last bytes", out("abc") + out("def"), { bytes: 6 }, "c\ndef\n"],
  ["bytes and lines, bytes less", out("abc") + out("def"), { bytes: 3, lines: 2 }, "ef\n"],
  ["bytes and lines, lines less", out("abc") + out("def"), { bytes: 100, lines: 1 }, "def\n"],
  ["partial entries are one line", out("a", "P") + out("b", "P") + out("c"), all, "abc\n"],
  [
    "partial entries count as one line",
    out("x") + out("a", "P") + out("b") + out("c"),
    { ...all, lines: 2 },
    "ab\nc\n",
  ],
  ["partial entries of two streams are not mixed", out("a", "P") + err("e") + out("b"), all, "e\nab\n"],
  ["the last line is still being written", out("a") + out("b", "P"), all, "a\nb"],
  ["more tags than one", out("a", "P:x") + out("b", "F:y"), all, "ab\n"],
  ["a line without a newline is read anyway", out("a") + out("b").trimEnd(), all, "a\nb\n"],
  [
    "a line that is not an entry is omitted",
    `junk\n${out("a")}${time} stdin F no\n\n${out("b")}`,
    all,
    "a\nb\n",
  ],
  ["an entry that spans many chunks", out("a") + out(long) + out("b"), all, `a\n${long}\nb\n`],
  ["the last bytes of an entry that spans many chunks", out("a") + out(`${long}y`), { bytes: 4 }, "xxy\n"],
  [
    "an entry that spans many chunks is one line",
    out("a") + out(`${long}y`),
    { bytes: 400_000, lines: 1 },
    `${long}y\n`,
  ],
  ["characters are not split", out("a€"), { bytes: 3 }, "\n"],
  [
    "invalid UTF-8 is replaced",
    Buffer.concat([Buffer.from(out("a").trimEnd()), Buffer.from([0xff, 10])]),
    all,
    "a\ufffd\n",
  ],
];
for (const [rule, log, options, text] of table)
  test(`the end of a log: ${rule}`, async () => {
    const path = join(dir, "0.log");
    await writeFile(path, log);
    assert.equal(await tailLog(path, options), text);
  });

test("headers that cross a chunk boundary are parsed, wherever the boundary is", async () => {
  const path = join(dir, "edge.log");
  for (let edge = 0; edge < 60; edge++) {
    // The last entry ends `edge` bytes after the boundary of the second chunk.
    const last = out("y".repeat(64 * 1024 - out("").length - edge));
    await writeFile(path, out("a") + out("b") + last);
    assert.match(await tailLog(path, { lines: 2, bytes: 1e6 }), /^b\ny+\n$/, `edge at ${edge}`);
  }
});

test("an entry without an end takes bounded memory", async () => {
  const path = join(dir, "huge.log");
  await writeFile(path, out("a") + out("begin").trimEnd());
  const file = await open(path, "r+");
  await file.truncate(12 * 1024 * 1024);
  await file.close();
  await appendFile(path, `end\n${out("b")}`);
  const before = process.memoryUsage().arrayBuffers;
  assert.equal(await tailLog(path, { bytes: 6 }), "end\nb\n");
  assert.ok(process.memoryUsage().arrayBuffers - before < 8 * 1024 * 1024);
});

test("a file is not read to its start in search of entries", async () => {
  const path = join(dir, "no-log.log");
  for (const junk of ["\0", "\n", "junk\n"]) {
    await writeFile(
      path,
      `${out("a")}${junk.repeat(Math.ceil((17 * 1024 * 1024) / junk.length))}\n${out("b")}`,
    );
    assert.equal(await tailLog(path, all), "b\n", JSON.stringify(junk));
  }
});

test("a link is followed, as some runtimes write them", async () => {
  await writeFile(join(dir, "real.log"), out("a"));
  await symlink(join(dir, "real.log"), join(dir, "link.log"));
  assert.equal(await tailLog(join(dir, "link.log"), all), "a\n");
});

test("anything but a file is rejected immediately, including a pipe", async () => {
  const pipe = join(dir, "pipe.log");
  execFileSync("mkfifo", [pipe]);
  await assert.rejects(tailLog(pipe, all), /pipe\.log: not a regular file/);
  await assert.rejects(tailLog(dir, all), /is a directory/);
  await assert.rejects(tailLog("/dev/zero", all), /not a regular file/);
  await assert.rejects(tailLog(join(dir, "none"), all), { code: "ENOENT" });
});
