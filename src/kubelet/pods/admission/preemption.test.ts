import assert from "node:assert/strict";
import { test } from "node:test";
import { isPreemptable } from "../../../lib/model/critical-pod.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { annotationMirror, annotationSource, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import { choosePreempted, type Requirement, requirementsText } from "./preemption.ts";
import { amountsText, candidatesText } from "./preemption-text.ts";

const mi = 1024n * 1024n;
const options = { podLevel: true };

interface Parts {
  cpu?: string;
  memory?: string;
  guaranteed?: boolean;
  priority?: number;
  source?: string;
}

function pod(name: string, { cpu, memory, guaranteed = false, priority, source = "api" }: Parts = {}): Pod {
  const requests = { ...(cpu && { cpu }), ...(memory && { memory }) };
  return fakePod({
    metadata: { name, uid: name as PodUid, annotations: { [annotationSource]: source } },
    spec: {
      ...(priority !== undefined && { priority }),
      containers: [{ resources: { requests, ...(guaranteed && { limits: requests }) } }],
    },
  });
}

const critical = pod("critical", { priority: 2_000_000_000 });
const best = pod("best");
const best2 = pod("best2");
const small = pod("small", { cpu: "100m", memory: "100Mi" });
const large = pod("large", { cpu: "300m", memory: "300Mi" });
const noMemory = pod("noMemory", { cpu: "300m" });
const noCpu = pod("noCpu", { memory: "300Mi" });
const smallGuaranteed = pod("smallGuaranteed", { cpu: "100m", memory: "100Mi", guaranteed: true });
const largeGuaranteed = pod("largeGuaranteed", { cpu: "300m", memory: "300Mi", guaranteed: true });

const cpu = (quantity: bigint): Requirement => ({ resource: "cpu", quantity });
const memory = (quantity: bigint): Requirement => ({ resource: "memory", quantity: quantity * mi });
const pods = (quantity: bigint): Requirement => ({ resource: "pods", quantity });

const rows: [rule: string, pods: Pod[], required: Requirement[], victims: string[] | string][] = [
  ["nothing is missing", [best, small, smallGuaranteed], [], []],
  ["no pods", [], [cpu(100n)], "[(res: cpu, q: 100), ]"],
  ["a pod that frees just what is missing", [small], [cpu(100n), memory(100n)], ["small"]],
  [
    "what all pods together do not free",
    [best, small],
    [cpu(150n), memory(100n), pods(3n)],
    "[(res: cpu, q: 50), (res: pods, q: 1), ]",
  ],
  ["a Burstable pod before a Guaranteed one", [smallGuaranteed, small], [cpu(100n)], ["small"]],
  [
    "a BestEffort pod for the number of pods, however small the others",
    [small, best, smallGuaranteed],
    [pods(1n)],
    ["best"],
  ],
  [
    "BestEffort pods that do not help are left alone",
    [best, best2, small],
    [cpu(100n), memory(100n)],
    ["small"],
  ],
  ["two BestEffort pods before one Burstable", [best, best2, small], [pods(2n)], ["best2", "best"]],
  [
    "several Burstable pods before a Guaranteed one",
    [small, large, largeGuaranteed],
    [cpu(350n)],
    ["large", "small"],
  ],
  [
    "a Guaranteed pod where the others are not enough",
    [small, smallGuaranteed, largeGuaranteed],
    [cpu(300n)],
    ["largeGuaranteed"],
  ],
  ["the pod that frees enough rather than several", [small, large], [cpu(200n), memory(200n)], ["large"]],
  ["the smaller of those that free enough", [large, small], [cpu(50n), memory(50n)], ["small"]],
  ["less memory first, then less CPU", [large, noMemory, small], [cpu(100n)], ["noMemory"]],
  [
    "the pod that frees most of all resources together",
    [noMemory, noCpu, large],
    [cpu(200n), memory(200n)],
    ["large"],
  ],
  ["two that complement each other", [noMemory, noCpu], [cpu(300n), memory(300n)], ["noMemory", "noCpu"]],
  [
    "never a critical pod",
    [pod("system", { cpu: "1", priority: 2_000_000_000 }), small],
    [cpu(100n)],
    ["small"],
  ],
  [
    "if only critical pods could free it, none",
    [pod("static", { cpu: "1", source: "file" }), small],
    [cpu(200n)],
    "[(res: cpu, q: 100), ]",
  ],
];

for (const [rule, others, required, expected] of rows)
  test(`preempted: ${rule}`, () => {
    const choice = choosePreempted(critical, others, required, options);
    if ("unmet" in choice) assert.equal(requirementsText(choice.unmet), expected);
    else
      assert.deepEqual(
        choice.victims.map(({ metadata }) => metadata.name),
        expected,
      );
  });

test("a pod that is not critical, or of a lower priority, can be preempted", () => {
  const at = (priority: number | undefined, source = "api") =>
    pod("p", { source, ...(priority !== undefined && { priority }) });
  const mirror = fakePod({ metadata: { annotations: { [annotationMirror]: "x" } } });
  const rows: [preemptor: Pod, other: Pod, expected: boolean][] = [
    [at(2_000_000_000), at(undefined), true],
    [at(2_000_000_000), at(1_999_999_999), true],
    [at(2_000_000_000), at(2_000_000_000), false],
    [at(2_000_001_000), at(2_000_000_000), true],
    [at(2_000_000_000), at(2_000_001_000), false],
    [at(undefined, "file"), at(1000), true],
    [at(undefined, "file"), at(undefined, "file"), false],
    [at(undefined, "file"), at(2_000_000_000), false],
    [at(2_000_000_000), mirror, false],
  ];
  for (const [preemptor, other, expected] of rows)
    assert.equal(
      isPreemptable(other, preemptor),
      expected,
      `${preemptor.spec.priority} ${other.spec.priority}`,
    );
});

test("amounts are written as users write them", () => {
  const required = [cpu(1500n), memory(64n), pods(1n), { resource: "example.com/gpu", quantity: 2n }];
  assert.equal(amountsText(required), "cpu 1500m, memory 64Mi, pods 1, example.com/gpu 2");
  assert.equal(
    candidatesText([small, best], [cpu(1n), pods(1n)], options),
    "default/small (Burstable, cpu 100m, pods 1), default/best (BestEffort, cpu 0, pods 1)",
  );
});
