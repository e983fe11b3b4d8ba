import assert from "node:assert/strict";
import { test } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Container, Pod, ResourceRequirements } from "../../../lib/model/pod.ts";
import { infeasibleResize, type ResizeLimits } from "./resize-feasibility.ts";

const limits: ResizeLimits = {
  gates: { podLevel: true, initContainers: true },
  podLevelResources: true,
  exclusiveCpus: false,
  exclusiveMemory: false,
  resources: { mayUseSwap: () => false },
};
const amounts = (cpu: string, memory: string) => ({ cpu, memory });
const guaranteed = (cpu: string, memory: string): ResourceRequirements => ({
  requests: amounts(cpu, memory),
  limits: amounts(cpu, memory),
});
const burstable = (cpu: string, memory: string) => ({ requests: amounts(cpu, memory) });
const aPod = (
  resources: ResourceRequirements,
  more: { container?: Partial<Container>; init?: Partial<Container>; pod?: ResourceRequirements } = {},
): Pod =>
  fakePod({
    spec: {
      ...(more.pod && { resources: more.pod }),
      ...(more.init && { initContainers: [{ name: "i", ...more.init }] }),
      containers: [{ name: "c", resources, ...more.container }],
    },
  });

const cpuPolicy = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"';
const memoryPolicy = 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"';
const swap = "In-place resize of containers with swap is not supported.";
const podLevelOff = "InPlacePodLevelResourcesVerticalScaling is disabled";
const restarts = { resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }] };

const rows: [rule: string, from: Pod, to: Pod, settings: Partial<ResizeLimits>, message?: string][] = [
  ["any on a plain node", aPod(guaranteed("1", "1Gi")), aPod(guaranteed("2", "2Gi")), {}],
  [
    "CPU, exclusive",
    aPod(guaranteed("1", "1Gi")),
    aPod(guaranteed("2", "1Gi")),
    { exclusiveCpus: true },
    cpuPolicy,
  ],
  [
    "memory, with exclusive CPUs",
    aPod(guaranteed("1", "1Gi")),
    aPod(guaranteed("1", "2Gi")),
    { exclusiveCpus: true },
  ],
  [
    "memory, exclusive",
    aPod(guaranteed("1", "1Gi")),
    aPod(guaranteed("1", "2Gi")),
    { exclusiveMemory: true },
    memoryPolicy,
  ],
  [
    "a Burstable pod, on a node with exclusive resources",
    aPod(burstable("1", "1Gi")),
    aPod(burstable("2", "2Gi")),
    { exclusiveCpus: true, exclusiveMemory: true },
  ],
  [
    "memory of a container with swap",
    aPod(burstable("1", "1Gi")),
    aPod(burstable("1", "2Gi")),
    { resources: { mayUseSwap: () => true } },
    swap,
  ],
  [
    "CPU of a container with swap",
    aPod(burstable("1", "1Gi")),
    aPod(burstable("2", "1Gi")),
    { resources: { mayUseSwap: () => true } },
  ],
  [
    "memory of a container with swap that is restarted",
    aPod(burstable("1", "1Gi"), { container: restarts }),
    aPod(burstable("1", "2Gi"), { container: restarts }),
    { resources: { mayUseSwap: () => true } },
  ],
  [
    "an init container of a Guaranteed pod that is not resizable",
    aPod(guaranteed("1", "1Gi"), { init: { resources: guaranteed("1", "1Gi") } }),
    aPod(guaranteed("1", "1Gi"), { init: { resources: guaranteed("2", "1Gi") } }),
    { exclusiveCpus: true, gates: { podLevel: true, initContainers: false } },
  ],
  [
    "pod-level resources without their gate",
    aPod({}, { pod: { requests: { cpu: "1" } } }),
    aPod({}, { pod: { requests: { cpu: "2" } } }),
    { gates: { podLevel: false, initContainers: true } },
    podLevelOff,
  ],
];
// parity: gate InPlacePodVerticalScalingExclusiveCPUs=true as exclusiveCpus, gate InPlacePodVerticalScalingExclusiveCPUs=false as exclusiveCpus, gate InPlacePodVerticalScalingExclusiveMemory=true as exclusiveMemory, gate InPlacePodVerticalScalingExclusiveMemory=false as exclusiveMemory, gate InPlacePodVerticalScaling=true as infeasibleResize, gate InPlacePodLevelResourcesVerticalScaling=true as podLevel, gate InPlacePodLevelResourcesVerticalScaling=false as podLevel
for (const [rule, from, to, settings, message] of rows)
  test(`${message ? "infeasible" : "feasible"}: ${rule}`, () => {
    assert.equal(infeasibleResize(to, from, { ...limits, ...settings })?.message, message);
  });
