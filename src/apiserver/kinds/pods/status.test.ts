import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "../../definition.ts";
import { changed, messagesOf, storedPod } from "./fake-draft.ts";
import { FakeObjects } from "./fake-objects.ts";
import { statusSubresource } from "./status.ts";

const context = new FakeObjects().context();
const terminated = (exitCode: number, name = "c") => ({ name, state: { terminated: { exitCode } } });
const running = { name: "c", state: { running: {} } };
const never = { restartPolicy: "Never" };
const stays = "may not be transitioned to non-terminated state";

function update(before: ReturnType<typeof storedPod>, change: (draft: Unstructured) => void): string[] {
  const draft = changed(before, change);
  statusSubresource.prepareUpdate(draft, before, context);
  return messagesOf(statusSubresource.validateUpdate?.(draft, before, context) ?? []);
}

test("only status, labels and annotations are written", () => {
  const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "u" };
  const before = storedPod({}, { ownerReferences: [owner], deletionTimestamp: "2026-01-01T00:00:00Z" });
  const draft = changed(before, ({ metadata, spec }) => {
    spec.containers[0].image = "other";
    delete metadata.ownerReferences;
    delete metadata.deletionTimestamp;
    metadata.annotations = { a: "b" };
  });
  draft.status = { phase: "Running" };
  statusSubresource.prepareUpdate(draft, before, context);
  assert.deepEqual(draft.spec, before.spec);
  assert.deepEqual(draft.status, { phase: "Running", qosClass: "BestEffort" });
  assert.deepEqual(draft.metadata, { ...before.metadata, annotations: { a: "b" } });
});

test("a client that does not send observedGeneration does not clear it", () => {
  const type = "Ready";
  const before = storedPod(
    {},
    {},
    { observedGeneration: 3, conditions: [{ type, status: "True", observedGeneration: 3 }] },
  );
  const draft = changed(before, () => {});
  draft.status = {
    conditions: [
      { type, status: "False" },
      { type: "Other", status: "True" },
    ],
  };
  statusSubresource.prepareUpdate(draft, before, context);
  assert.equal(draft.status.observedGeneration, 3);
  assert.deepEqual(draft.status.conditions, [
    { type, status: "False", observedGeneration: 3 },
    { type: "Other", status: "True" },
  ]);
});

type Row = [rule: string, spec: object, before: object, now: object, ...problems: string[]];
const rows: Row[] = [
  [
    "a container that the policy restarts may run again",
    {},
    { containerStatuses: [terminated(1)] },
    { containerStatuses: [running] },
  ],
  [
    "a container that is not restarted may not run again",
    never,
    { containerStatuses: [terminated(1)] },
    { containerStatuses: [running] },
    `status.containerStatuses[0].state: Forbidden: ${stays}`,
  ],
  [
    "a container that succeeded may not run again under OnFailure",
    { restartPolicy: "OnFailure" },
    { containerStatuses: [terminated(0)] },
    { containerStatuses: [running] },
    `status.containerStatuses[0].state: Forbidden: ${stays}`,
  ],
  [
    "a container that failed may run again under OnFailure",
    { restartPolicy: "OnFailure" },
    { containerStatuses: [terminated(3)] },
    { containerStatuses: [running] },
  ],
  [
    "a removed container status is accepted",
    never,
    { containerStatuses: [terminated(1)] },
    { containerStatuses: [] },
  ],
  [
    "a sidecar may run again under any policy",
    { ...never, initContainers: [{ name: "c2", image: "i:1", restartPolicy: "Always" }] },
    { initContainerStatuses: [terminated(0, "c2")] },
    { initContainerStatuses: [{ ...running, name: "c2" }] },
  ],
  [
    "an init container of a pod with Never may not run again",
    { ...never, initContainers: [{ name: "c2", image: "i:1" }] },
    { initContainerStatuses: [terminated(1, "c2")] },
    { initContainerStatuses: [{ ...running, name: "c2" }] },
    `status.initContainerStatuses[0].state: Forbidden: ${stays}`,
  ],
  [
    "an ephemeral container may never run again",
    {},
    { ephemeralContainerStatuses: [terminated(1, "e")] },
    { ephemeralContainerStatuses: [{ ...running, name: "e" }] },
    `status.ephemeralContainerStatuses[0].state: Forbidden: ${stays}`,
  ],
  [
    "a RestartAllContainers rule lets every container run again",
    {
      ...never,
      containers: [
        {
          name: "c",
          image: "i:1",
          restartPolicy: "Never",
          restartPolicyRules: [
            { action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } },
          ],
        },
      ],
    },
    { containerStatuses: [terminated(1)] },
    { containerStatuses: [running] },
  ],
  [
    "the QoS class is immutable",
    {},
    {},
    { qosClass: "Burstable" },
    'status.qosClass: Invalid value: "Burstable": field is immutable',
  ],
  ["podIPs may have one address of each family", {}, {}, { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] }],
  [
    "podIPs may not have two addresses of one family",
    {},
    {},
    { podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }] },
    'status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each IP family',
  ],
  [
    "podIPs must be valid addresses",
    {},
    {},
    { podIPs: [{ ip: "x" }] },
    'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    "existing podIPs are not validated again",
    {},
    { podIPs: [{ ip: "010.0.0.1" }] },
    { podIPs: [{ ip: "010.0.0.1" }] },
  ],
  [
    "the first of hostIPs is hostIP",
    {},
    {},
    { hostIP: "10.0.0.1", hostIPs: [{ ip: "10.0.0.2" }] },
    'status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`',
  ],
  [
    "a pod with a node has no nominatedNodeName",
    { nodeName: "n1" },
    {},
    { nominatedNodeName: "n2" },
    "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
  ],
  [
    "a generation is not negative",
    {},
    {},
    { observedGeneration: -1 },
    "status.observedGeneration: Invalid value: -1: must be a non-negative integer",
  ],
  [
    "claims of the status are those of the spec",
    { resourceClaims: [{ name: "a", resourceClaimName: "x" }] },
    {},
    { resourceClaimStatuses: [{ name: "b" }, { name: "a" }, { name: "a" }] },
    'status.resourceClaimStatuses[0].name: Invalid value: "b": must match the name of an entry in `spec.resourceClaims`',
    'status.resourceClaimStatuses[2].name: Duplicate value: "a"',
  ],
  [
    "user IDs must be valid",
    {},
    {},
    { containerStatuses: [{ ...running, user: { linux: { uid: -1, gid: 0, supplementalGroups: [0] } } }] },
    "status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive",
  ],
  [
    "health is reported for requested resources",
    {},
    {},
    {
      containerStatuses: [
        {
          ...running,
          allocatedResourcesStatus: [
            { name: "example.com/gpu", resources: [{ resourceID: "a", health: "Fine" }] },
          ],
        },
      ],
    },
    'status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "example.com/gpu": must match one of the container\'s resource requests',
    'status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Fine": supported values: "Healthy", "Unhealthy", "Unknown"',
  ],
];
for (const [rule, spec, then, now, ...problems] of rows)
  test(`status: ${rule}`, () => {
    const before = storedPod({ ...spec }, {}, { ...then });
    assert.deepEqual(
      update(before, (draft) => Object.assign(draft.status, now)),
      problems,
    );
  });
