import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { entryText, FakeLog } from "./fake-log.ts";

const mib = 1024 * 1024;
const fileMib = 200;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("a large log is read, searched and followed without being in memory", async (t) => {
  const log = new FakeLog();
  t.after(() => log.remove());
  const entry = entryText({ stream: "stdout", tag: "F", text: "x".repeat(200), at: Date.UTC(2026, 0, 1) });
  const entries = Math.floor(mib / entry.length);
  const block = entry.repeat(entries);
  for (let i = 0; i < fileMib; i++) appendFileSync(log.path, block);

  // How much garbage there is at a moment depends on the tests before this one.
  const memory = () => {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = memory();
  let most = before;
  let bytes = 0;
  let nextMeasurement = 0;
  await log.read({
    write: async (part) => {
      bytes += part.length;
      if (bytes < nextMeasurement) return;
      nextMeasurement += 10 * mib;
      most = Math.max(most, memory());
    },
  });
  assert.equal(bytes, fileMib * entries * 201);
  assert.ok(most - before < 16 * mib, `${Math.round((most - before) / mib)} MiB`);
  assert.equal((await log.read({ tailLines: 3 })).length, 3 * 201);
});
