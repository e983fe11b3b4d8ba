// Preloaded into an agent: on SIGUSR2 it collects garbage and writes one line about itself to stderr, "PROBE {…}". The line has the event
// loop lag since the previous line, measured every few milliseconds: `loop` is the whole lag, `own` is the lag without the time that
// the thread waited for a CPU.
import { closeSync, openSync, readSync } from "node:fs";
import { createHistogram } from "node:perf_hooks";

const intervalMs = 5;
const loop = createHistogram();
const own = createHistogram();
const buffer = Buffer.alloc(100);
const schedule = openSchedule();

/** Milliseconds that this thread has waited for a CPU so far. */
function waitedMs() {
  if (schedule === undefined) return 0;
  const text = buffer.toString("latin1", 0, readSync(schedule, buffer, 0, buffer.length, 0));
  return Number(text.split(" ")[1]) / 1e6;
}

/** Undefined if the kernel does not count it. */
function openSchedule() {
  try {
    return openSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, "r");
  } catch {
    return undefined;
  }
}

let due = performance.now() + intervalMs;
let waited = waitedMs();
setInterval(() => {
  const now = performance.now();
  const late = Math.max(0, now - due);
  const waitedNow = waitedMs();
  const microseconds = (ms) => Math.max(1, Math.round(ms * 1000));
  loop.record(microseconds(late));
  own.record(microseconds(late - (waitedNow - waited)));
  waited = waitedNow;
  due = now + intervalMs;
}, intervalMs).unref();

process.on("exit", () => schedule !== undefined && closeSync(schedule));
process.on("SIGUSR2", () => {
  const figures = (histogram) => ({
    count: histogram.count,
    p50: histogram.percentile(50) / 1000,
    p99: histogram.percentile(99) / 1000,
    max: histogram.max / 1000,
  });
  const delays = { loop: figures(loop), own: figures(own) };
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  process.stderr.write(`PROBE ${JSON.stringify({ heapUsed, external, rss, ...delays })}\n`);
  loop.reset();
  own.reset();
});
