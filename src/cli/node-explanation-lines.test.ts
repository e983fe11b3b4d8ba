import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeExplanation } from "../kubelet/explain/explain-node.ts";
import { nodeExplanationLines } from "./node-explanation-lines.ts";

const healthy: NodeExplanation = {
  node: "vm",
  at: "2026-11-16T13:00:00.000Z",
  cause: null,
  conditions: [],
  notReady: [],
  thresholds: [
    {
      signal: "memory.available",
      kind: "hard",
      value: "100Mi",
      threshold: "100Mi",
      available: "22.1Gi",
      capacity: "23.5Gi",
      met: false,
    },
    {
      signal: "nodefs.available",
      kind: "hard",
      value: "10%",
      threshold: "25.2Gi",
      available: "74Gi",
      capacity: "252Gi",
      met: false,
    },
    { signal: "imagefs.available", kind: "soft", value: "15%", met: false },
  ],
  lastEviction: null,
  shutdown: null,
};

test("a healthy node is explained by what is left of each resource", () =>
  assert.deepEqual(nodeExplanationLines(healthy), [
    "vm  nothing is low, and the node is ready",
    "  memory.available   hard  < 100Mi  22.1Gi of 23.5Gi available",
    "  nodefs.available   hard  < 10%    74Gi of 252Gi available, threshold 25.2Gi",
    "  imagefs.available  soft  < 15%    not observed",
  ]));

test("a node under pressure is explained by its cause, the end of its conditions, and the last eviction", () => {
  const [memory, ...others] = healthy.thresholds;
  const lines = nodeExplanationLines({
    ...healthy,
    cause: "MemoryPressure, DiskPressure: memory.available is 80Mi, below the soft threshold of 100Mi",
    conditions: [{ type: "MemoryPressure" }, { type: "DiskPressure", endsInSeconds: 250 }],
    thresholds: [{ ...memory!, kind: "soft", available: "80Mi", met: true, evictsInSeconds: 12 }, ...others],
    lastEviction: { pod: "default/hog", why: "it was big", at: "2026-11-16T12:59:30.000Z" },
  });
  assert.deepEqual(lines.slice(0, 5), [
    "vm  MemoryPressure, DiskPressure: memory.available is 80Mi, below the soft threshold of 100Mi",
    "  MemoryPressure: a threshold is crossed now",
    "  DiskPressure: no threshold is crossed now, ends in 4m10s",
    "  last eviction, 30 s ago: default/hog: it was big",
    "  memory.available   soft  < 100Mi  80Mi of 23.5Gi available (crossed, evicts in 12 s)",
  ]);
});

const periods = [
  { priority: 0, seconds: 20 },
  { priority: 2_000_000_000, seconds: 10 },
];
const shutdowns: [title: string, shutdown: NodeExplanation["shutdown"], lines: string[]][] = [
  [
    "what a shutdown waits for",
    { periods, problem: null, active: null, last: null },
    ["a shutdown waits for pods: 20 s for priority 0 and above, then 10 s for priority 2000000000 and above"],
  ],
  [
    "why a shutdown does not wait",
    { periods, problem: "connect to D-Bus: no such file", active: null, last: null },
    ["a shutdown does not wait for pods: connect to D-Bus: no such file"],
  ],
  [
    "the shutdown in progress",
    {
      periods,
      problem: null,
      last: { start: "2026-11-16T12:59:50.000Z", end: null },
      active: { since: "2026-11-16T12:59:50.000Z", priority: 0, waitsFor: ["default/a", "default/b"] },
    },
    ["shutdown announced 10 s ago, waits for default/a, default/b"],
  ],
  [
    "the last shutdown",
    {
      periods: [periods[0]!],
      problem: null,
      active: null,
      last: { start: "2026-11-16T12:58:00.000Z", end: "2026-11-16T12:58:20.000Z" },
    },
    [
      "a shutdown waits for pods: 20 s for priority 0 and above",
      "last graceful shutdown, 2m00s ago: completed",
    ],
  ],
];
for (const [title, shutdown, lines] of shutdowns)
  test(`a node is explained with ${title}`, () =>
    assert.deepEqual(
      nodeExplanationLines({ ...healthy, shutdown }).slice(1, -3),
      lines.map((line) => `  ${line}`),
    ));

test("a node without thresholds is explained, too", () =>
  assert.deepEqual(nodeExplanationLines({ ...healthy, thresholds: [] }), [
    "vm  nothing is low, and the node is ready",
    "  no eviction thresholds are configured",
  ]));
