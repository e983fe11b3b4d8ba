import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "../../definition.ts";
import { changed, messagesOf, storedPod } from "./fake-draft.ts";
import { FakeObjects } from "./fake-objects.ts";
import { resizeSubresource as subresource } from "./resize.ts";

const context = new FakeObjects().context();
const resources = {
  requests: { cpu: "100m", memory: "32Mi", "ephemeral-storage": "1Gi" },
  limits: { cpu: "1" },
};
const spec = {
  initContainers: [
    { name: "once", image: "i:1", resources: { requests: { cpu: "10m" } } },
    { name: "side", image: "i:1", restartPolicy: "Always", resources: { requests: { cpu: "10m" } } },
  ],
  containers: [{ name: "c", image: "i:1", resources }],
};
const burstable = { qosClass: "Burstable" };

function update(
  before: ReturnType<typeof storedPod>,
  change: (draft: Unstructured) => void,
): { draft: Unstructured; problems: string[] } {
  const draft = changed(before, change);
  subresource.prepareUpdate(draft, before, context);
  return { draft, problems: messagesOf(subresource.validateUpdate?.(draft, before, context) ?? []) };
}

test("resources are changed, and no other field", () => {
  const before = storedPod(spec, {}, burstable);
  const { draft, problems } = update(before, (pod) => {
    pod.spec.containers[0].resources.requests.cpu = "200m";
    pod.spec.initContainers[1].resources.requests.cpu = "0.02";
    pod.spec.containers[0].image = "other";
    pod.spec.hostname = "other";
    pod.metadata.labels = { a: "b" };
    pod.status = {};
  });
  assert.deepEqual(problems, []);
  const expected: Unstructured = structuredClone(before);
  expected.spec.containers[0].resources.requests.cpu = "200m";
  expected.spec.initContainers[1].resources.requests.cpu = "20m";
  assert.deepEqual(draft, expected);
});

const none = { status: {}, metadata: {}, extra: {} };
const rows: [
  rule: string,
  change: (draft: Unstructured) => void,
  given: Partial<typeof none>,
  ...problems: string[],
][] = [
  [
    "an init container that runs once",
    ({ spec: s }) => {
      s.initContainers[0].resources.requests.cpu = "20m";
    },
    {},
  ],
  [
    "memory limits where there were none",
    ({ spec: s }) => {
      s.containers[0].resources.limits.memory = "1Gi";
    },
    {},
  ],
  [
    "other resources",
    ({ spec: s }) => {
      s.containers[0].resources.requests["ephemeral-storage"] = "2Gi";
    },
    {},
    "spec: Forbidden: only cpu and memory resources are mutable",
  ],
  [
    "resize policies",
    ({ spec: s }) => {
      s.containers[0].resizePolicy = [{ resourceName: "cpu", restartPolicy: "NotRequired" }];
    },
    {},
    "spec: Forbidden: only cpu and memory resources are mutable",
  ],
  [
    "a removed request",
    ({ spec: s }) => {
      delete s.containers[0].resources.requests.memory;
    },
    {},
    "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
  ],
  [
    "a removed limit",
    ({ spec: s }) => {
      delete s.containers[0].resources.limits;
    },
    {},
    "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
  ],
  [
    "a request above the limit",
    ({ spec: s }) => {
      s.containers[0].resources.requests.cpu = "2";
    },
    {},
    'spec.containers[0].resources.requests[cpu]: Invalid value: "2": must be less than or equal to cpu limit of 1',
  ],
  [
    "a removed container",
    ({ spec: s }) => {
      s.initContainers.pop();
    },
    {},
    "spec.initContainers: Forbidden: initContainers may not be added or removed on resize",
  ],
  [
    "another order",
    ({ spec: s }) => {
      s.initContainers.reverse();
    },
    {},
    "spec.initContainers[0].name: Forbidden: initContainers may not be renamed or reordered on resize",
    "spec.initContainers[1].name: Forbidden: initContainers may not be renamed or reordered on resize",
  ],
  [
    "another QoS class",
    ({ spec: s }) => {
      s.containers[0].resources.requests.cpu = "1";
    },
    { status: { qosClass: "Guaranteed" } },
    'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
  ],
  [
    "on a node that does not support it",
    () => {},
    { status: { containerStatuses: [{ name: "c", state: { running: {} } }] } },
    "spec: Forbidden: Pod running on node without support for resize",
  ],
  [
    "on a node that supports it",
    () => {},
    { status: { containerStatuses: [{ name: "c", state: { running: {} }, resources: {} }] } },
  ],
  [
    "a mirror pod",
    () => {},
    { metadata: { annotations: { "kubernetes.io/config.mirror": "h" } }, extra: { nodeName: "n" } },
    ": Forbidden: static pods cannot be resized",
  ],
  [
    "pod-level resources",
    ({ spec: s }) => {
      s.resources.requests.cpu = "3";
    },
    { extra: { resources: { requests: { cpu: "2" } } } },
  ],
  [
    "removed pod-level resources",
    ({ spec: s }) => {
      delete s.resources;
    },
    { extra: { resources: { requests: { cpu: "2" } } } },
    "spec.resources: Forbidden: pod-level resources cannot be removed",
  ],
];
for (const [rule, change, given, ...problems] of rows)
  test(`${problems.length === 0 ? "can" : "cannot"} be resized: ${rule}`, () => {
    const { status, metadata, extra } = { ...none, ...given };
    const before = storedPod({ ...spec, ...extra }, metadata, { ...burstable, ...status });
    assert.deepEqual(update(before, change).problems, problems);
  });
