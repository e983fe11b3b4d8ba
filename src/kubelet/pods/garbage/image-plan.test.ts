import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { monotonicTime } from "../../../lib/base/fake-clock.ts";
import { ImageSchema } from "../../../lib/gen/runtime/v1/api_pb.js";
import {
  evictionOrder,
  formatBytes,
  type ImageGcPolicy,
  oldEnough,
  type Shortage,
  shortageOf,
  unusedTooLong,
} from "./image-plan.ts";
import { type ImageRecord, updateRecords } from "./image-records.ts";

const policy: ImageGcPolicy = { highPercent: 85, lowPercent: 80, minAgeMs: 100, maxAgeMs: 0 };
const record = (id: string, more: Partial<ImageRecord> = {}): ImageRecord => ({
  id,
  size: 1,
  pinned: false,
  used: false,
  firstSeen: monotonicTime(0),
  lastUsed: undefined,
  ...more,
});
const ids = (records: readonly ImageRecord[]) => records.map((r) => r.id).join(" ");

const orders: [rule: string, records: ImageRecord[], order: string][] = [
  ["used images are kept", [record("a", { used: true }), record("b")], "b"],
  ["pinned images are kept", [record("a", { pinned: true }), record("b")], "b"],
  [
    "the least recently used image is first",
    [record("a", { lastUsed: monotonicTime(2) }), record("b", { lastUsed: monotonicTime(1) }), record("c")],
    "c b a",
  ],
  [
    "among images with the same last use, the one that was seen first is first",
    [
      record("a", { lastUsed: monotonicTime(1), firstSeen: monotonicTime(9) }),
      record("b", { lastUsed: monotonicTime(1), firstSeen: monotonicTime(8) }),
    ],
    "b a",
  ],
];
for (const [rule, records, order] of orders)
  test(`order of removal: ${rule}`, () => assert.equal(ids(evictionOrder(records)), order));

const ages: [rule: string, maxAgeMs: number, now: number, lastUsed: number, removed: boolean][] = [
  ["never without a maximum age", 0, 1_000_000, 0, false],
  ["not when it was used recently", 100, 1000, 900, false],
  ["when it has been unused for longer than the maximum age", 100, 1000, 899, true],
  ["when it was not used since the agent started", 100, 1000, 0, true],
  [
    "not before the agent has run for the maximum age, since earlier uses are not known",
    100,
    500 + 100,
    0,
    false,
  ],
  ["when the agent has run for longer than the maximum age", 100, 500 + 101, 0, true],
];
for (const [rule, maxAgeMs, now, lastUsed, removed] of ages)
  test(`an image is removed because of its age: ${rule}`, () => {
    const found = unusedTooLong(
      [record("a", { lastUsed: monotonicTime(lastUsed) })],
      { ...policy, maxAgeMs },
      { now: monotonicTime(now), startedAt: monotonicTime(500) },
    );
    assert.equal(found.length === 1, removed);
  });

test("a new image is not removed to free space", () => {
  const order = [
    record("new", { firstSeen: monotonicTime(901) }),
    record("old", { firstSeen: monotonicTime(900) }),
  ];
  assert.equal(ids(oldEnough(order, policy, monotonicTime(1000))), "old");
});

const shortages: [rule: string, available: number, shortage: Shortage | undefined][] = [
  ["below the high threshold nothing is freed", 16, undefined],
  ["at the high threshold, usage is reduced to the low threshold", 15, { usedPercent: 85, bytesToFree: 5 }],
  ["fractions of a percent count as used", 15.9, { usedPercent: 85, bytesToFree: 20 - 15.9 }],
  ["the usage of a full disk is reduced to the low threshold", 0, { usedPercent: 100, bytesToFree: 20 }],
  ["nothing is freed if more is available than the capacity", 200, undefined],
];
for (const [rule, available, shortage] of shortages)
  test(`space on a disk of 100: ${rule}`, () =>
    assert.deepEqual(shortageOf({ capacity: 100, available }, policy), shortage));

const sizes: [bytes: number, text: string][] = [
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.0 KiB"],
  [1536 * 1024, "1.5 MiB"],
  [20 * 1024 ** 3, "20.0 GiB"],
  [3 * 1024 ** 5, "3072.0 TiB"],
];
for (const [bytes, text] of sizes)
  test(`${bytes} bytes are ${text}`, () => assert.equal(formatBytes(bytes), text));

test("records have the times when an image was first seen and last used; those of removed images are dropped", () => {
  const image = (id: string) => create(ImageSchema, { id, size: 5n });
  const usedNow = new Set(["a"]);
  const update = (before: ReadonlyMap<string, ImageRecord>, all: string[], now: number) =>
    updateRecords(before, all.map(image), ({ id }) => usedNow.has(id), monotonicTime(now));
  let records = update(new Map(), ["a", "b"], 100);
  usedNow.clear();
  records = update(records, ["a", "b", "c"], 200);
  assert.deepEqual(
    [...records.values()],
    [
      record("a", { size: 5, firstSeen: monotonicTime(100), lastUsed: monotonicTime(100) }),
      record("b", { size: 5, firstSeen: monotonicTime(100) }),
      record("c", { size: 5, firstSeen: monotonicTime(200) }),
    ],
  );
  records = update(records, ["c"], 300);
  records = update(records, ["a", "c"], 400);
  assert.deepEqual(records.get("a"), record("a", { size: 5, firstSeen: monotonicTime(400) }));
});
