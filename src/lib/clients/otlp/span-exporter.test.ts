import assert from "node:assert/strict";
import { test } from "node:test";
import { abortError } from "../../base/errors.ts";
import { FakeClock, settle } from "../../base/fake-clock.ts";
import { silentLogger } from "../../base/logger.ts";
import type { FinishedSpan } from "../../base/tracing/tracer.ts";
import { SpanExporter } from "./span-exporter.ts";

const span = (name = "a"): FinishedSpan => ({
  traceId: "a".repeat(32),
  spanId: "b".repeat(16),
  sampled: true,
  parentId: undefined,
  name,
  kind: "internal",
  startedAt: 0,
  endedAt: 1,
  attributes: {},
  error: undefined,
  links: [],
});

class FakeCollector {
  readonly batches: number[] = [];
  tries = 0;
  isClosed = false;
  /** "hangs" ends only on abort. */
  behavior: "good" | "unavailable" | "rejects" | "hangs" = "good";

  async send(spans: readonly FinishedSpan[], signal: AbortSignal) {
    this.tries++;
    if (this.behavior === "hangs")
      await new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(abortError(signal.reason)), { once: true }),
      );
    if (this.behavior !== "good") throw new Error(this.behavior);
    this.batches.push(spans.length);
    return { rejected: 0 };
  }
  mayRetry(error: unknown) {
    return (error as Error).message === "unavailable";
  }
  close() {
    this.isClosed = true;
  }
}

async function setUp() {
  const clock = new FakeClock();
  const collector = new FakeCollector();
  const lines: string[] = [];
  const log = (message: string) => void lines.push(message);
  const logger = { ...silentLogger, warn: log, info: log };
  const exporter = new SpanExporter({ collector, clock, logger });
  const stop = new AbortController();
  await exporter.start(stop.signal);
  const add = (count: number) => {
    for (let i = 0; i < count; i++) exporter.add(span());
  };
  return { clock, collector, exporter, stop, add, lines };
}

test("spans are batched", async () => {
  const { clock, collector, add } = await setUp();
  add(3);
  await clock.advance(4999);
  assert.deepEqual(collector.batches, []);
  await clock.advance(1);
  assert.deepEqual(collector.batches, [3]);
  add(1);
  await clock.advance(5000);
  assert.deepEqual(collector.batches, [3, 1]);
});

test("a full batch is sent immediately", async () => {
  const { clock, collector, add } = await setUp();
  add(1100);
  await settle();
  assert.deepEqual(collector.batches, [512, 512]);
  await clock.advance(5000);
  assert.deepEqual(collector.batches, [512, 512, 76]);
});

test("without spans there is no timer", async () => {
  const { clock, collector } = await setUp();
  await clock.advance(3_600_000);
  assert.equal(collector.tries, 0);
});

test("an unavailable collector is retried with back-off, and gets the batch when it is back", async () => {
  const { clock, collector, add, exporter, lines } = await setUp();
  collector.behavior = "unavailable";
  add(10);
  await clock.advance(5000);
  assert.equal(collector.tries, 1);
  await clock.advance(1000);
  assert.equal(collector.tries, 2);
  await clock.advance(1999);
  assert.equal(collector.tries, 2);
  collector.behavior = "good";
  await clock.advance(1);
  assert.deepEqual(collector.batches, [10]);
  assert.equal(exporter.dropped, 0);
  assert.deepEqual(lines, ["Failed to export traces", "Exporting traces resumed"]);
});

test("spans kept for an unavailable collector are bounded, in number and in time", async () => {
  const { clock, collector, add, exporter, lines } = await setUp();
  collector.behavior = "unavailable";
  add(10_000);
  await settle();
  assert.ok(exporter.waiting <= 2048);
  assert.equal(exporter.dropped, 10_000 - 512 - exporter.waiting);
  const before = exporter.dropped;
  await clock.advance(61_000);
  assert.ok(exporter.dropped > before, "a batch that was not accepted within a minute is dropped");
  await clock.advance(600_000);
  assert.equal(exporter.waiting < 512, true);
  assert.deepEqual(lines, ["Failed to export traces"], "it is logged once");
});

test("permanently rejected spans are dropped immediately", async () => {
  const { clock, collector, add, exporter } = await setUp();
  collector.behavior = "rejects";
  add(5);
  await clock.advance(5000);
  assert.deepEqual([exporter.dropped, collector.tries], [5, 1]);
});

test("on stop the rest is sent", async () => {
  const { collector, add, exporter, stop } = await setUp();
  add(400);
  stop.abort();
  await exporter.done;
  assert.deepEqual(collector.batches, [400]);
  assert.ok(collector.isClosed);
  add(1);
  assert.equal(exporter.dropped, 1, "later spans are not kept");
});

test("a collector that hangs delays shutdown by two seconds at most", async () => {
  const { clock, collector, add, exporter, stop } = await setUp();
  collector.behavior = "hangs";
  add(5);
  await clock.advance(5000);
  add(7);
  stop.abort();
  let ended = false;
  void exporter.done.then(() => {
    ended = true;
  });
  await clock.advance(1999);
  assert.equal(ended, false);
  await clock.advance(1);
  assert.equal(ended, true);
  assert.equal(exporter.dropped, 12);
});

test("a collector that is known to be unavailable does not delay shutdown", async () => {
  const { clock, collector, add, exporter, stop } = await setUp();
  collector.behavior = "unavailable";
  add(5);
  await clock.advance(5000);
  stop.abort();
  await exporter.done;
  assert.equal(exporter.dropped, 5);
});
