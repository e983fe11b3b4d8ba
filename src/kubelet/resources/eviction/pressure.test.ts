import assert from "node:assert/strict";
import { test } from "node:test";
import { monotonicTime } from "../../../lib/base/fake-clock.ts";
import { noPressure, observePressure, type PressureState } from "./pressure.ts";
import { observationsOf } from "./signals.ts";
import { thresholdsOf } from "./thresholds.ts";

const thresholds = thresholdsOf({
  evictionHard: { "memory.available": "100" },
  evictionSoft: { "memory.available": "300", "nodefs.available": "10" },
  evictionSoftGracePeriod: { "memory.available": "30s", "nodefs.available": "60s" },
  evictionMinimumReclaim: { "memory.available": "50" },
  enforcesAllocatable: false,
});
const transitionMs = 300_000;

/** At each second: how much memory and disk is available; expected: the conditions, and what to reclaim. */
type Step = [second: number, memory: number, disk: number, conditions: string, toReclaim: string];
const histories: [rule: string, Step[]][] = [
  ["nothing is low", [[0, 1000, 1000, "", ""]]],
  ["a hard threshold acts immediately", [[0, 99, 1000, "MemoryPressure", "100"]]],
  [
    "a soft threshold sets the condition immediately, and acts after its grace period",
    [
      [0, 299, 1000, "MemoryPressure", ""],
      [29, 299, 1000, "MemoryPressure", ""],
      [30, 299, 1000, "MemoryPressure", "300"],
    ],
  ],
  [
    "the grace period starts again after a recovery",
    [
      [0, 299, 1000, "MemoryPressure", ""],
      [20, 300, 1000, "MemoryPressure", ""],
      [25, 299, 1000, "MemoryPressure", ""],
      [50, 299, 1000, "MemoryPressure", ""],
      [55, 299, 1000, "MemoryPressure", "300"],
    ],
  ],
  [
    "a threshold that acted is resolved when the minimum reclaim is available too",
    [
      [0, 99, 1000, "MemoryPressure", "100"],
      [10, 149, 1000, "MemoryPressure", "100"],
      [20, 150, 1000, "MemoryPressure", ""],
      [25, 120, 1000, "MemoryPressure", ""],
    ],
  ],
  [
    "a condition is kept for the transition period after it was last observed",
    [
      [0, 99, 1000, "MemoryPressure", "100"],
      [10, 1000, 1000, "MemoryPressure", ""],
      [299, 1000, 1000, "MemoryPressure", ""],
      [300, 1000, 1000, "", ""],
    ],
  ],
  [
    "conditions are independent of each other",
    [
      [0, 99, 9, "DiskPressure MemoryPressure", "100"],
      [60, 1000, 9, "DiskPressure MemoryPressure", "10"],
      [301, 1000, 9, "DiskPressure", "10"],
    ],
  ],
];
for (const [rule, steps] of histories)
  test(rule, () => {
    let state: PressureState = noPressure;
    for (const [second, memory, disk, conditions, toReclaim] of steps) {
      const observations = observationsOf({
        memory: { availableBytes: memory, workingSetBytes: 0 },
        nodeFs: { availableBytes: disk, capacityBytes: 1000 },
      });
      const now = monotonicTime(second * 1000);
      const found = observePressure(state, { thresholds, observations, now, transitionMs });
      state = found.state;
      assert.equal(
        [...found.conditions].sort((a, b) => (a < b ? -1 : 1)).join(" "),
        conditions,
        `at ${second} s`,
      );
      const hardOnly = found.toReclaim.map(({ value }) => value.text);
      // The soft memory threshold is met whenever the hard one is.
      assert.deepEqual(
        hardOnly.filter((text) => text !== "300" || toReclaim.includes("300")).join(" "),
        toReclaim,
        `at ${second} s`,
      );
    }
  });
