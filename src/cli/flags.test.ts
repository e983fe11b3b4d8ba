import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFlags } from "../lib/config/flags/parse.ts";
import { flagTable } from "../lib/config/flags/table.ts";
import { usage } from "./flags.ts";

test("help describes every flag", () => {
  const text = usage();
  for (const { name, help } of flagTable.values()) {
    assert.match(text, new RegExp(`^ {2}(?:-\\w, |    )--${name}(?: |$)`, "m"));
    assert.ok(text.includes(help), name);
    assert.ok(help.length <= 90 && !help.includes("\n"), name);
  }
});

const lines: [start: string, end: string][] = [
  ["      --max-pods int32 ", "(default 110)"],
  ["      --sync-frequency duration ", "(default 1m0s)"],
  ["      --anonymous-auth ", "(default true)"],
  ["      --read-only-port int32 ", "(default 10255)"],
  ["      --authorization-mode string ", "(default AlwaysAllow)"],
  ["      --enforce-node-allocatable strings ", "(default pods)"],
  ["      --root-dir string ", "(default /var/lib/kubelet)"],
  ["  -v, --v level ", "log verbosity level"],
  ["  -h, --help ", "print this help"],
];
for (const [start, end] of lines) {
  test(`help: "${start.trim()} … ${end}"`, () => {
    const line = usage()
      .split("\n")
      .find((candidate) => candidate.startsWith(start));
    assert.ok(line?.endsWith(end), line);
  });
}

test("help lists the feature gates", () =>
  assert.match(usage(), /^ {2}AllAlpha=true\|false \(ALPHA - default=false\)$/m));

test("the parser accepts -h", () => assert.equal(parseFlags(["-h"]).flags.help, true));
