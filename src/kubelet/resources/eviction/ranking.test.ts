import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import type { Pod, PodSpec, PodUid } from "../../../lib/model/pod.ts";
import type { PodStats } from "../../../lib/model/stats-summary.ts";
import { rankPods } from "./ranking.ts";
import { type NodeReclaim, nodeReclaims } from "./reclaim.ts";
import type { Signal } from "./signals.ts";
import type { FsLayout } from "./thresholds.ts";

interface Candidate {
  name: string;
  request?: string;
  priority?: number;
  usage?: number | undefined;
  spec?: Partial<PodSpec>;
}

const nodeFsOnly: FsLayout = { dedicatedImageFs: false, splitContainerFs: false };
const dedicated: FsLayout = { dedicatedImageFs: true, splitContainerFs: false };
const split: FsLayout = { dedicatedImageFs: true, splitContainerFs: true };
const time = "2026-01-01T00:00:00Z";

function podOf({ name, request, priority, spec }: Candidate, resource: string): Pod {
  const resources = request === undefined ? {} : { requests: { [resource]: request } };
  return aPod(
    { priority, containers: [{ name: "c", image: "i", resources }], ...spec },
    { name, uid: name as PodUid },
  );
}

function rank(
  signal: Signal,
  candidates: Candidate[],
  stats: (c: Candidate) => Partial<PodStats>,
  layout = nodeFsOnly,
) {
  const resource = signal.includes("emory") ? "memory" : "ephemeral-storage";
  const byName = new Map(candidates.map((c) => [c.name, c]));
  return rankPods(
    candidates.map((c) => podOf(c, resource)),
    {
      signal,
      layout,
      podLevel: true,
      statsOf: ({ metadata: { name, namespace, uid } }) => {
        const c = byName.get(name)!;
        if (c.usage === undefined) return undefined;
        return { podRef: { name, namespace, uid }, startTime: time, containers: [], ...stats(c) };
      },
    },
  ).map(({ pod }) => pod.metadata.name);
}

const memory = (c: Candidate) => ({ memory: { time, workingSetBytes: c.usage ?? 0 } });
const memoryTable: [rule: string, Candidate[], string][] = [
  [
    "pods over their request come first, even with a higher priority and less usage",
    [
      { name: "within", request: "500", usage: 400 },
      { name: "over", request: "10", usage: 11, priority: 1000 },
    ],
    "over within",
  ],
  [
    "exactly the request is not over it",
    [
      { name: "exact", request: "500", usage: 500 },
      { name: "over", usage: 1, priority: 9 },
    ],
    "over exact",
  ],
  [
    "then the lower priority",
    [
      { name: "high", usage: 900, priority: 10 },
      { name: "none", usage: 20 },
      { name: "negative", usage: 10, priority: -5 },
    ],
    "negative none high",
  ],
  [
    "then the larger usage over the request",
    [
      { name: "big", request: "900", usage: 1000 },
      { name: "greedy", request: "100", usage: 300 },
      { name: "small", usage: 150 },
    ],
    "greedy small big",
  ],
  [
    "pods without stats come before all others",
    [
      { name: "over", usage: 1000, priority: -1 },
      { name: "unknown", priority: 1000 },
    ],
    "unknown over",
  ],
  [
    "overhead is added to a request, but is not a request on its own",
    [
      { name: "sandboxed", request: "100", usage: 150, spec: { overhead: { memory: "60" } } },
      { name: "lonely", usage: 50, spec: { overhead: { memory: "60" } } },
    ],
    "lonely sandboxed",
  ],
  [
    "pod-level resources replace those of the containers",
    [
      { name: "plain", request: "100", usage: 120, priority: 5 },
      { name: "podlevel", request: "100", usage: 120, spec: { resources: { requests: { memory: "200" } } } },
    ],
    "plain podlevel",
  ],
];
for (const [rule, candidates, expected] of memoryTable)
  test(`memory: ${rule}`, () =>
    assert.equal(rank("memory.available", candidates, memory).join(" "), expected));

test("process IDs: by priority, then by the number of processes", () => {
  const candidates = [
    { name: "few", usage: 3 },
    { name: "important", usage: 4000, priority: 1 },
    { name: "bomb", usage: 2000 },
  ];
  const pids = (c: Candidate) => ({ process_stats: { process_count: c.usage ?? 0 } });
  assert.equal(rank("pid.available", candidates, pids).join(" "), "bomb few important");
});

const volumes = [
  { name: "scratch", emptyDir: {} },
  { name: "tmpfs", emptyDir: { medium: "Memory" } },
  { name: "host", hostPath: { path: "/data" } },
  { name: "pvc", persistentVolumeClaim: { claimName: "c" } },
];
/** Where each pod has its 100 bytes. */
const places: Record<string, Partial<PodStats>> = {
  layer: { containers: [{ name: "c", startTime: time, rootfs: { time, usedBytes: 100, inodesUsed: 100 } }] },
  logs: { containers: [{ name: "c", startTime: time, logs: { time, usedBytes: 90, inodesUsed: 90 } }] },
  scratch: { volume: [{ name: "scratch", time, usedBytes: 80, inodesUsed: 80 }] },
  host: { volume: [{ name: "host", time, usedBytes: 70, inodesUsed: 70 }] },
  tmpfs: { volume: [{ name: "tmpfs", time, usedBytes: 1000, inodesUsed: 1000 }] },
  pvc: { volume: [{ name: "pvc", time, usedBytes: 1000, inodesUsed: 1000 }] },
};
const diskTable: [signal: Signal, FsLayout, rule: string, expected: string][] = [
  ["nodefs.available", nodeFsOnly, "only nodefs: all of it counts", "layer logs scratch host tmpfs pvc"],
  ["imagefs.inodesFree", nodeFsOnly, "only nodefs: all of it counts", "layer logs scratch host tmpfs pvc"],
  [
    "nodefs.available",
    dedicated,
    "a dedicated imagefs: logs and volumes are on the nodefs",
    "logs scratch host layer tmpfs pvc",
  ],
  ["imagefs.available", dedicated, "a dedicated imagefs: layers too", "layer logs scratch host tmpfs pvc"],
  ["containerfs.inodesFree", dedicated, "a dedicated imagefs: the same", "layer logs scratch host tmpfs pvc"],
  [
    "containerfs.available",
    split,
    "layers on the nodefs: all of it counts",
    "layer logs scratch host tmpfs pvc",
  ],
];
for (const [signal, layout, rule, expected] of diskTable)
  test(`${signal} with ${rule}`, () => {
    const candidates = Object.keys(places).map((name) => ({ name, usage: 1, spec: { volumes } }));
    const found = rank(signal, candidates as Candidate[], (c) => places[c.name]!, layout);
    assert.equal(found.join(" "), expected);
  });

test("storage: what is requested does not count", () => {
  const candidates = [
    { name: "greedy", request: "10", usage: 100 },
    { name: "modest", request: "95", usage: 100 },
    { name: "within", request: "200", usage: 150, priority: -1 },
  ];
  const found = rank("nodefs.available", candidates, (c) => ({
    containers: [{ name: "c", startTime: time, rootfs: { time, usedBytes: c.usage ?? 0 } }],
  }));
  assert.equal(found.join(" "), "greedy modest within");
});

const both: NodeReclaim[] = ["dead containers", "unused images"];
const reclaims: [Signal, FsLayout, NodeReclaim[]][] = [
  ["memory.available", nodeFsOnly, []],
  ["pid.available", nodeFsOnly, []],
  ["nodefs.available", nodeFsOnly, both],
  ["imagefs.inodesFree", nodeFsOnly, both],
  ["containerfs.available", nodeFsOnly, both],
  ["nodefs.available", dedicated, []],
  ["imagefs.available", dedicated, both],
  ["containerfs.inodesFree", dedicated, both],
  ["nodefs.inodesFree", split, ["dead containers"]],
  ["imagefs.available", split, ["unused images"]],
  ["containerfs.available", split, ["dead containers"]],
];
for (const [signal, layout, expected] of reclaims) {
  const disks =
    layout === nodeFsOnly ? "only nodefs" : layout === dedicated ? "a dedicated imagefs" : "a split imagefs";
  test(`${signal} with ${disks} reclaims ${expected.join(" and ") || "nothing"} before pods`, () =>
    assert.deepEqual(nodeReclaims(signal, layout), expected));
}
