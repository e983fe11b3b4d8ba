import assert from "node:assert/strict";
import { test } from "node:test";
import { monotonicTime } from "../../../../lib/base/fake-clock.ts";
import { type ContentSample, Transfer } from "./transfer.ts";

const MB = 1e6;
const layers = { done: 1, total: 3 };

/** Samples by second; "none": the runtime does not have the manifest. */
function after(samples: readonly (readonly [second: number, sample: Partial<ContentSample> | "none"])[]) {
  const transfer = new Transfer(monotonicTime(0));
  for (const [second, sample] of samples)
    transfer.add(
      monotonicTime(second * 1000),
      sample === "none" ? undefined : { total: 300 * MB, present: 0, received: 0, layers, ...sample },
    );
  return transfer.progress();
}

/** A sample a second, at this rate. */
const steady = (seconds: number, rate = 10 * MB) =>
  Array.from({ length: seconds }, (_, i) => [i + 1, { received: (i + 1) * rate }] as const);

test("the time left is that of the missing bytes at the rate of the last seconds", () => {
  const { state, bytes, bytesPerSecond, leftMs } = after(steady(10));
  assert.deepEqual(
    { state, bytes, bytesPerSecond, leftMs },
    {
      state: "pulling",
      bytes: { done: 100 * MB, total: 300 * MB },
      bytesPerSecond: 10 * MB,
      leftMs: 20_000,
    },
  );
});

test("the rate follows the network within ten seconds", () => {
  const slower = Array.from({ length: 10 }, (_, i) => [i + 11, { received: (100 + i + 1) * MB }] as const);
  assert.equal(after([...steady(10), ...slower]).bytesPerSecond, 1 * MB);
});

test("one sample has no rate", () => {
  const { state, bytesPerSecond, leftMs } = after(steady(1));
  assert.deepEqual([state, bytesPerSecond, leftMs], ["pulling", null, null]);
});

test("a few bytes, such as the configuration of the image, have no rate", () => {
  const { state, bytesPerSecond, leftMs } = after([
    [1, { received: 100 }],
    [2, { received: 2400 }],
  ]);
  assert.deepEqual([state, bytesPerSecond, leftMs], ["pulling", null, null]);
});

test("layers that were present count as done, and not for the rate", () => {
  const { bytes, bytesPerSecond } = after([
    [1, { present: 100 * MB, received: 10 * MB }],
    [2, { present: 200 * MB, received: 20 * MB }],
  ]);
  assert.deepEqual(bytes, { done: 220 * MB, total: 300 * MB });
  assert.equal(bytesPerSecond, 10 * MB);
});

test("the registry is waited for until it has sent a byte", () => {
  assert.equal(after([]).state, "connecting");
  assert.equal(after([[29, "none"]]).state, "connecting");
  assert.equal(after([[1, {}]]).state, "connecting");
  assert.equal(after([[1, { received: 1 }]]).state, "pulling");
});

test("a pull is stalled after 30 s without a byte, also before the first one", () => {
  assert.equal(after([[30, "none"]]).state, "stalled");
  const cut = (second: number) => after([...steady(10), [second, { received: 100 * MB }]]);
  assert.equal(cut(39).state, "pulling");
  const { state, idleMs, bytes } = cut(40);
  assert.deepEqual([state, idleMs, bytes?.done], ["stalled", 30_000, 100 * MB]);
});

test("a pull that goes on is no longer stalled", () => {
  const samples = [...steady(10), [50, { received: 100 * MB }], [51, { received: 101 * MB }]] as const;
  const { state, idleMs } = after(samples);
  assert.deepEqual([state, idleMs], ["pulling", 0]);
});

test("a download that begins again keeps its bytes, and is not stalled", () => {
  const { state, bytes, idleMs } = after([...steady(10), [41, { received: 5 * MB }]]);
  assert.deepEqual([state, bytes?.done, idleMs], ["pulling", 100 * MB, 0]);
});

test("an image whose bytes are all there is unpacked, however long that takes", () => {
  const { state, leftMs, idleMs } = after([...steady(30), [300, { received: 300 * MB }]]);
  assert.deepEqual([state, leftMs, idleMs], ["unpacking", 0, null]);
});
