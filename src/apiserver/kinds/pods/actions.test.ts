import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActionSubresource, Unstructured } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { bindPod } from "./binding.ts";
import { podDraft, podObjects, storedPod } from "./fake-draft.ts";
import { podDefinition, podDeletionGrace } from "./pod-definition.ts";

const ref = { resource: "pods", namespace: "default", name: "web" };
const success = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
const definition = podDefinition({ mountTokens: false });
const eviction = definition.subresources?.eviction as ActionSubresource;

function binding(metadata: object = {}, target: object = { kind: "Node", name: "n1" }): Unstructured {
  return { metadata: { name: "web", uid: "", ...metadata }, target };
}

function evictionOf(deleteOptions?: object): Unstructured {
  return { metadata: { name: "web", uid: "" }, ...(deleteOptions && { deleteOptions }) };
}

test("a binding sets the pod's node and condition, and does not increment its generation", async () => {
  const objects = podObjects();
  objects.put("nodes", { metadata: { name: "n1", labels: { "topology.kubernetes.io/region": "r" } } });
  await objects.create("pods", podDraft({}, { labels: { app: "web" } }));
  const body = binding({ annotations: { note: "x" }, labels: { by: "me" } });
  assert.deepEqual(await bindPod(ref, body, objects.context()), success);
  const pod = (await objects.get(ref)) as ApiObject & { spec: Unstructured; status: Unstructured };
  assert.equal(pod.spec.nodeName, "n1");
  assert.equal(pod.metadata.generation, 1);
  assert.deepEqual(pod.metadata.annotations, { note: "x" });
  assert.deepEqual(pod.metadata.labels, { app: "web", by: "me", "topology.kubernetes.io/region": "r" });
  assert.deepEqual(pod.status, {
    phase: "Pending",
    qosClass: "BestEffort",
    conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
  });
});

const conflict = 'Operation cannot be fulfilled on pods/binding "web": pod web';
const bindings: [
  rule: string,
  pod: ApiObject | undefined,
  body: Unstructured,
  status: number,
  message: string,
][] = [
  [
    "without a target",
    storedPod(),
    binding({}, {}),
    422,
    'Binding "web" is invalid: target.name: Required value',
  ],
  [
    "to an object of another kind",
    storedPod(),
    binding({}, { kind: "Pod", name: "x" }),
    422,
    'Binding "web" is invalid: target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
  ],
  [
    "with another name in its body",
    storedPod(),
    binding({ name: "other" }),
    400,
    "name in URL does not match name in Binding object",
  ],
  ["of a missing pod", undefined, binding(), 404, 'pods "web" not found'],
  ["twice", storedPod({ nodeName: "n0" }), binding(), 409, `${conflict} is already assigned to node "n0"`],
  [
    "of a pod that is being deleted",
    storedPod({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    binding(),
    409,
    `${conflict} is being deleted, cannot be assigned to a host`,
  ],
  [
    "of a pod with scheduling gates",
    storedPod({ schedulingGates: [{ name: "a/b" }] }),
    binding(),
    409,
    `${conflict} has non-empty .spec.schedulingGates`,
  ],
  [
    "with the UID of another pod",
    storedPod(),
    binding({ uid: "u2" }),
    409,
    'Operation cannot be fulfilled on pods "web": Precondition failed: UID in precondition: u2, UID in object meta: u1',
  ],
];
for (const [rule, pod, body, status, message] of bindings)
  test(`no binding ${rule}`, async () => {
    const objects = podObjects();
    if (pod) objects.put("pods", pod as never);
    const before = await objects.get(ref);
    await assert.rejects(bindPod(ref, body, objects.context()), { status, message });
    assert.equal(await objects.get(ref), before);
  });

test("an eviction sets the DisruptionTarget condition and deletes the pod", async () => {
  const objects = podObjects();
  objects.put("pods", storedPod({ nodeName: "n1" }, {}, { phase: "Running" }) as never);
  assert.deepEqual(
    await eviction.act(ref, evictionOf({ gracePeriodSeconds: 7 }), objects.context()),
    success,
  );
  const pod = (await objects.get(ref)) as ApiObject & { status: Unstructured };
  assert.equal(pod.metadata.deletionGracePeriodSeconds, 7);
  assert.equal(pod.metadata.deletionTimestamp, "2026-01-01T00:00:07.000Z");
  assert.deepEqual(pod.status.conditions, [
    {
      type: "DisruptionTarget",
      status: "True",
      reason: "EvictionByEvictionAPI",
      message: "Eviction API: evicting",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ]);
});

test("a pod without a node is removed immediately when it is evicted", async () => {
  const objects = podObjects();
  objects.put("pods", storedPod() as never);
  await eviction.act(ref, evictionOf(), objects.context());
  assert.equal(await objects.get(ref), undefined);
});

test("a dry-run eviction changes nothing", async () => {
  const objects = podObjects();
  const pod = objects.put("pods", storedPod({ nodeName: "n1" }) as never);
  assert.deepEqual(await eviction.act(ref, evictionOf({ dryRun: ["All"] }), objects.context()), success);
  assert.deepEqual(await eviction.act(ref, evictionOf(), objects.context({ dryRun: true })), success);
  assert.equal(await objects.get(ref), pod);
});

const evictions: [rule: string, there: boolean, body: Unstructured, status: number, message: string][] = [
  ["of a missing pod", false, evictionOf(), 404, 'pods "web" not found'],
  [
    "with another name in its body",
    true,
    { metadata: { name: "x", uid: "" } },
    400,
    "name in URL does not match name in Eviction object",
  ],
  [
    "with the UID of another pod",
    true,
    evictionOf({ preconditions: { uid: "u2" } }),
    409,
    'Operation cannot be fulfilled on Pod "web": the UID in the precondition (u2) does not match the UID in record (u1). The object might have been deleted and then recreated',
  ],
  [
    "with an outdated resourceVersion",
    true,
    evictionOf({ preconditions: { resourceVersion: "77" } }),
    409,
    'Operation cannot be fulfilled on Pod "web": the ResourceVersion in the precondition (77) does not match the ResourceVersion in record (2). The object might have been modified',
  ],
];
for (const [rule, there, body, status, message] of evictions)
  test(`no eviction ${rule}`, async () => {
    const objects = podObjects();
    if (there) objects.put("pods", storedPod() as never);
    await assert.rejects(eviction.act(ref, body, objects.context()), { status, message });
  });

const graces: [rule: string, spec: object, phase: string, requested: number | undefined, seconds: number][] =
  [
    ["of the pod's spec", { nodeName: "n", terminationGracePeriodSeconds: 20 }, "Running", undefined, 20],
    ["the default", { nodeName: "n" }, "Running", undefined, 30],
    ["as requested", { nodeName: "n" }, "Running", 5, 5],
    ["0 as requested", { nodeName: "n" }, "Running", 0, 0],
    ["1 if it is negative", { nodeName: "n", terminationGracePeriodSeconds: -3 }, "Running", undefined, 1],
    ["0 without a node", {}, "Pending", 5, 0],
    ["0 after success", { nodeName: "n" }, "Succeeded", undefined, 0],
    ["0 after failure", { nodeName: "n" }, "Failed", 5, 0],
  ];
for (const [rule, spec, phase, requested, seconds] of graces)
  test(`grace period: ${rule}`, () => {
    assert.equal(podDeletionGrace(storedPod({ ...spec }, {}, { phase }), requested), seconds);
  });

test("a pod's generation counts changes of its spec, and of nothing else", async () => {
  const objects = podObjects();
  const created = await objects.create("pods", podDraft());
  assert.equal(created.metadata.generation, 1);
  const steps: [
    subresource: string | undefined,
    change: (draft: Unstructured) => void,
    generation: number,
  ][] = [
    [undefined, ({ metadata }) => Object.assign(metadata, { labels: { a: "b" } }), 1],
    ["status", ({ status }) => Object.assign(status, { phase: "Running" }), 1],
    [undefined, ({ spec }) => Object.assign(spec.containers[0], { image: "example/app:2" }), 2],
    [
      "ephemeralcontainers",
      ({ spec }) => Object.assign(spec, { ephemeralContainers: [{ name: "e", image: "i:1" }] }),
      3,
    ],
    // A different notation of the same value.
    [undefined, ({ spec }) => Object.assign(spec, { hostNetwork: false, nodeSelector: {} }), 3],
  ];
  for (const [subresource, change, generation] of steps) {
    const written = await objects.change(ref, change, subresource === undefined ? {} : { subresource });
    assert.equal(written?.metadata.generation, generation, String(change));
  }
});

test("connect subresources of a pod are those of the options", () => {
  const connectSubresource = { type: "connect", verbs: ["get"], connect: () => Promise.resolve() } as const;
  const connect = {
    log: connectSubresource,
    exec: connectSubresource,
    attach: connectSubresource,
    portforward: connectSubresource,
    proxy: connectSubresource,
  };
  const { subresources } = podDefinition({ mountTokens: false, connect });
  assert.equal(subresources?.log, connectSubresource);
  assert.deepEqual(
    Object.keys(subresources ?? {}).filter((name) => {
      const sub = subresources?.[name];
      return !(sub?.type === "update" && sub.internal);
    }),
    [
      "status",
      "ephemeralcontainers",
      "resize",
      "binding",
      "eviction",
      "log",
      "exec",
      "attach",
      "portforward",
      "proxy",
    ],
  );
});
