import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../../lib/base/time.ts";
import { compareResizes, type PendingPod } from "./resize-order.ts";

const plain: PendingPod = { increasesRequests: true, priority: 0, isGuaranteed: false, since: wallTime(5) };
/** In the order in which they are tried. */
const ordered: Record<string, Partial<PendingPod>> = {
  "frees resources": { increasesRequests: false, since: wallTime(9) },
  "high priority": { priority: 10, since: wallTime(9) },
  Guaranteed: { isGuaranteed: true, since: wallTime(9) },
  "waits longest": { since: wallTime(4) },
  waits: {},
  "never tried": { since: undefined },
  "low priority": { priority: -1, isGuaranteed: true, since: wallTime(1) },
};

test("pending resizes are tried by what they free, priority, QoS class, and how long they wait", () => {
  const names = Object.keys(ordered);
  for (const from of [names, names.toReversed()]) {
    const sorted = from.toSorted((a, b) =>
      compareResizes({ ...plain, ...ordered[a] }, { ...plain, ...ordered[b] }),
    );
    assert.deepEqual(sorted, names);
  }
});
