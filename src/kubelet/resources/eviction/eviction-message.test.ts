import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import type { PodSpec } from "../../../lib/model/pod.ts";
import type { PodStats } from "../../../lib/model/stats-summary.ts";
import { choiceText, evictionText, signalText } from "./eviction-message.ts";
import { observationsOf, resourceOf } from "./signals.ts";
import { thresholdsOf } from "./thresholds.ts";

const time = "2026-01-01T00:00:00Z";
const mi = 2 ** 20;
const thresholds = thresholdsOf({
  evictionHard: {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "pid.available": "1k",
  },
  evictionSoft: { "memory.available": "200Mi" },
  evictionSoftGracePeriod: { "memory.available": "30s" },
  evictionMinimumReclaim: {},
  enforcesAllocatable: false,
});
const observations = observationsOf({
  memory: { availableBytes: 80 * mi, workingSetBytes: 944 * mi },
  nodeFs: { availableBytes: 1 * mi, capacityBytes: 100 * mi, inodesFree: 7, inodes: 1000 },
  tasks: { max: 32_768, running: 32_000 },
});
const byText = (signal: string) => thresholds.filter((t) => t.signal === signal);

const table: [
  rule: string,
  signal: string,
  spec: PodSpec,
  stats: Partial<PodStats> | undefined,
  message: string,
  annotations: Record<string, string>,
][] = [
  [
    "containers over their request are named, with their usage",
    "memory.available",
    {
      containers: [
        { name: "hog", image: "i", resources: { requests: { memory: "64Mi" } } },
        { name: "quiet", image: "i", resources: { requests: { memory: "64Mi" } } },
      ],
      initContainers: [{ name: "side", image: "i", restartPolicy: "Always" }],
    },
    {
      containers: [
        { name: "hog", startTime: time, memory: { time, workingSetBytes: 300 * mi } },
        { name: "quiet", startTime: time, memory: { time, workingSetBytes: 64 * mi } },
        { name: "side", startTime: time, memory: { time, workingSetBytes: 1000 } },
        { name: "debugger", startTime: time, memory: { time, workingSetBytes: mi } },
      ],
    },
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. Container hog was using 300Mi, request is 64Mi, has larger consumption of memory. Container side was using 1k, request is 0, has larger consumption of memory. ",
    {
      offending_containers: "hog,side",
      offending_containers_usage: "300Mi,1k",
      starved_resource: "memory",
    },
  ],
  [
    "a pod with pod-level resources is named too",
    "memory.available",
    { containers: [{ name: "c", image: "i" }], resources: { requests: { memory: "1Gi" } } },
    { memory: { time, workingSetBytes: 10 * mi } },
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. Pod p was using 10Mi, request is 1Gi, has larger consumption of memory. ",
    {
      offending_pod: "p",
      offending_pod_usage: "10Mi",
      offending_containers: "",
      offending_containers_usage: "",
      starved_resource: "memory",
    },
  ],
  [
    "storage of a container is its layer and its logs",
    "nodefs.available",
    { containers: [{ name: "c", image: "i" }] },
    {
      containers: [
        { name: "c", startTime: time, rootfs: { time, usedBytes: mi }, logs: { time, usedBytes: mi } },
      ],
    },
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10Mi, available: 1Mi. Container c was using 2Mi, request is 0, has larger consumption of ephemeral-storage. ",
    { offending_containers: "c", offending_containers_usage: "2Mi", starved_resource: "ephemeral-storage" },
  ],
  [
    "inodes have no usage by container",
    "nodefs.inodesFree",
    { containers: [{ name: "c", image: "i" }] },
    {},
    "The node was low on resource: inodes. Threshold quantity: 50, available: 7. ",
    { offending_containers: "", offending_containers_usage: "", starved_resource: "inodes" },
  ],
  [
    "a pod without stats has no annotations",
    "pid.available",
    { containers: [{ name: "c", image: "i" }] },
    undefined,
    "The node was low on resource: pids. Threshold quantity: 1k, available: 768. ",
    {},
  ],
];
for (const [rule, signal, spec, stats, message, annotations] of table)
  test(rule, () => {
    const pod = aPod(spec, { name: "p" });
    const { name, namespace, uid } = pod.metadata;
    const found = evictionText({
      pod,
      stats: stats && { podRef: { name, namespace, uid }, startTime: time, containers: [], ...stats },
      resource: resourceOf(byText(signal)[0]!.signal),
      thresholds: byText(signal),
      observations,
      podLevel: true,
    });
    assert.deepEqual(found, { message, annotations });
  });

test("an explanation names the signal, the threshold and what is left", () => {
  const texts = thresholds.map((t) => signalText(t, observations));
  assert.deepEqual(texts, [
    "memory.available is 80Mi, below the hard threshold of 100Mi",
    "nodefs.available is 1Mi, below the hard threshold of 10Mi (10%)",
    "nodefs.inodesFree is 7, below the hard threshold of 50 (5%)",
    "pid.available is 768, below the hard threshold of 1000",
    "memory.available is 80Mi, below the soft threshold of 200Mi",
  ]);
});

test("an explanation names why a pod was chosen", () => {
  const pod = aPod();
  const ranked = { pod, usage: 300 * mi, request: 100 * mi, priority: 7 };
  assert.equal(
    choiceText(ranked, "memory", 4),
    "chosen from 4 pods: it uses 300Mi of memory, 200Mi more than it requests, priority 7",
  );
  assert.equal(
    choiceText({ ...ranked, request: 512 * mi }, "memory", 1),
    "chosen from 1 pod: it uses 300Mi of memory, not more than it requests (512Mi), priority 7",
  );
  assert.equal(
    choiceText({ ...ranked, usage: 2000, request: 0, priority: 0 }, "pids", 2),
    "chosen from 2 pods: it uses 2000 processes, priority 0",
  );
  assert.equal(
    choiceText({ ...ranked, usage: undefined }, "memory", 2),
    "chosen from 2 pods: its usage is unknown, priority 7",
  );
});
