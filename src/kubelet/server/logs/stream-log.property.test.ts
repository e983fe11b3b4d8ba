import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { entryText, type FakeEntry, FakeLog } from "./fake-log.ts";
import type { LogStream } from "./log-entry.ts";
import { formatLogTime } from "./log-time.ts";

const seed = 20260731;
const begin = Date.UTC(2026, 0, 1);

const entry = fc.record({
  stream: fc.constantFrom<LogStream>("stdout", "stderr"),
  tag: fc.constantFrom("F", "F", "F", "P"),
  text: fc.oneof(
    fc.stringMatching(/^[a-z ]{0,6}$/),
    fc.integer({ min: 1, max: 90 }).map((n) => "é".repeat(n)),
  ),
  step: fc.integer({ min: 0, max: 3000 }),
});
type Event =
  | { kind: "entry"; entry: { stream: LogStream; tag: string; text: string; step: number } }
  | { kind: "rotate" | "compress" };
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 12, arbitrary: entry.map((one) => ({ kind: "entry" as const, entry: one })) },
  { weight: 1, arbitrary: fc.constant({ kind: "rotate" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "compress" as const }) },
);
const options = fc.record(
  {
    tailLines: fc.integer({ min: 0, max: 20 }),
    sinceMs: fc.integer({ min: 0, max: 60_000 }),
    limitBytes: fc.integer({ min: 1, max: 400 }),
    timestamps: fc.boolean(),
    stream: fc.constantFrom<LogStream>("stdout", "stderr"),
  },
  { requiredKeys: [] },
);
type Options = typeof options extends fc.Arbitrary<infer T> ? T : never;

interface Line {
  stream: LogStream;
  text: string;
  ended: boolean;
  first: FakeEntry;
  last: number;
}

/** The model: everything in memory, line by line. */
function expected(entries: readonly FakeEntry[], o: Options): Buffer {
  const lines: Line[] = [];
  const open = new Map<LogStream, Line>();
  for (const [index, one] of entries.entries()) {
    let line = open.get(one.stream);
    if (!line) {
      line = { stream: one.stream, text: "", ended: false, first: one, last: index };
      lines.push(line);
      open.set(one.stream, line);
    }
    line.text += one.text;
    line.last = index;
    if (one.tag !== "F") continue;
    line.ended = true;
    open.delete(one.stream);
  }
  const byEnd = lines.toSorted((a, b) => a.last - b.last);
  const tail = new Set(
    o.tailLines === undefined ? byEnd : byEnd.slice(Math.max(0, byEnd.length - o.tailLines)),
  );
  const text = lines
    .filter((line) => tail.has(line))
    .filter((line) => !o.stream || line.stream === o.stream)
    .filter((line) => o.sinceMs === undefined || line.first.at >= begin + o.sinceMs)
    .map((line) => {
      const stamp = o.timestamps ? `${formatLogTime(entryText(line.first).split(" ")[0]!)} ` : "";
      return `${stamp}${line.text}${line.ended ? "\n" : ""}`;
    })
    .join("");
  return Buffer.from(text).subarray(0, o.limitBytes);
}

test("any log in any number of files equals the model, for any options", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 60 }),
      fc.array(options, { minLength: 3, maxLength: 3 }),
      async (events, logQuery) => {
        const log = new FakeLog();
        try {
          const entries: FakeEntry[] = [];
          const plain: string[] = [];
          let at = begin;
          for (const one of events) {
            if (one.kind === "entry") {
              at += one.entry.step;
              entries.push({ ...one.entry, at });
              log.entry(one.entry.text, { ...one.entry, at });
            } else if (one.kind === "rotate") plain.push(log.rotate());
            else if (plain.length > 0) {
              log.compress(plain.shift()!);
            }
          }
          for (const { sinceMs, ...rest } of logQuery) {
            const since = sinceMs === undefined ? {} : { since: { ms: begin + sinceMs, nanos: 0 } };
            const text = await log.read({ ...rest, ...since });
            const oracle = expected(entries, { ...rest, ...(sinceMs !== undefined && { sinceMs }) });
            assert.equal(Buffer.from(text).toString(), oracle.toString());
          }
        } finally {
          log.remove();
        }
      },
    ),
    { seed, numRuns: 300 },
  );
});
