import assert from "node:assert/strict";
import { byteRange } from "../../../src/kubelet/server/node-logs/byte-range.ts";
import { journalOptions } from "../../../src/kubelet/server/node-logs/journal.ts";
import { checkLogQuery, parseLogQuery } from "../../../src/kubelet/server/node-logs/log-query.ts";
import { partsOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** The query of node logs, and a Range header. */
export default {
  seeds: [
    "query=kubelet&sinceTime=2026-01-31T07:05:00Z&tailLines=5&boot=-1&pattern=a%2B",
    "query=a&query=b@c.service&untilTime=2026-01-31T07:05:00%2B02:00",
    "query=/var/log/x\n---\nbytes=0-5",
    "query=x&pattern=(%3FP%3Ca%3Eb)\n---\nbytes=-7",
  ],
  dictionary: [
    "--",
    "query=",
    "pattern=",
    "boot=",
    "tailLines=",
    "%00",
    "%0a",
    "(?i)",
    "(?P<",
    "\\",
    "bytes=",
  ],
  maxLength: 500,
  run(input) {
    const [text = "", header] = partsOf(input);
    const range = byteRange(header, 1000);
    if (typeof range === "object")
      assert.ok(range.start >= 0 && range.start <= range.end && range.end < 1000);
    const query = parseLogQuery(new URLSearchParams(text));
    if (query === undefined) return;
    if ("problems" in query) return void assert.ok(query.problems.length > 0);
    if (checkLogQuery(query).length > 0) return;
    const args = journalOptions(query.services, query.options).map((option) =>
      typeof option === "string" ? option : option.join(""),
    );
    // Each argument is an option that is known here, and its value is part of it.
    for (const arg of args)
      assert.match(arg, /^--(utc|no-pager|output|since|until|pager-end|lines|unit|grep|boot)(=|$)/);
    assert.ok(!args.some((arg) => arg.includes("\0")));
    for (const arg of args) if (arg.startsWith("--unit=")) assert.match(arg, /^--unit=[a-zA-Z\-_.:0-9@]+$/);
  },
} satisfies FuzzTarget;
