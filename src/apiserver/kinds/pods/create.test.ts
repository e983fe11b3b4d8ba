import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import type { RequestContext, Unstructured } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { podDraft, podObjects } from "./fake-draft.ts";
import { podDefinition } from "./pod-definition.ts";

const mirror = { annotations: { "kubernetes.io/config.mirror": "h" } };
const objects = podObjects();
objects.put("serviceaccounts", {
  metadata: { name: "robot", namespace: "default" },
  automountServiceAccountToken: false,
  imagePullSecrets: [{ name: "registry" }],
});
for (const [name, value, more] of [
  ["high", 1000, { preemptionPolicy: "Never" }],
  ["plain", 7, {}],
] as const)
  objects.put("priorityclasses.scheduling.k8s.io", { metadata: { name }, value, ...more });
objects.put("runtimeclasses.node.k8s.io", {
  metadata: { name: "vm" },
  handler: "vm",
  overhead: { podFixed: { memory: "1024Ki" } },
  scheduling: { nodeSelector: { vm: "yes" }, tolerations: [{ key: "vm", operator: "Exists" }] },
});
objects.put("nodes", {
  metadata: { name: "n1", labels: { "topology.kubernetes.io/zone": "z", other: "x" } },
});

async function create(
  draft: Unstructured,
  context: RequestContext = objects.context(),
  options: Parameters<typeof podDefinition>[0] = { mountTokens: false },
): Promise<Unstructured> {
  const definition = podDefinition(options);
  definition.defaults?.(draft);
  await definition.prepareCreate?.(draft, context);
  return draft;
}

for (const name of ["pod-running", "pod-full", "pod-hostnet", "pod-crash"])
  test(`admission changes ${name} as a real cluster does`, async () => {
    const url = new URL(`../../../../test/fixtures/recorded/${name}.json`, import.meta.url);
    const text = readFileSync(url, "utf8");
    const observed = JSON.parse(text) as ApiObject & { spec: object; status: Unstructured };
    const draft: Unstructured = structuredClone(observed);
    for (const field of ["priority", "preemptionPolicy", "tolerations"]) delete draft.spec[field];
    await create(draft);
    const account = { serviceAccountName: "default", serviceAccount: "default" };
    assert.deepEqual(draft.spec, { ...observed.spec, ...account });
    assert.deepEqual(draft.status, { phase: "Pending", qosClass: observed.status.qosClass });
    assert.equal(draft.metadata.generation, 1);
  });

test("fields that only the API server sets are reset in a new pod", async () => {
  const draft = podDraft(
    {},
    { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 3, generation: 9 },
  );
  draft.status = { phase: "Running", podIP: "10.0.0.1" };
  await create(draft);
  assert.equal(draft.metadata.deletionTimestamp, undefined);
  assert.equal(draft.metadata.deletionGracePeriodSeconds, undefined);
  assert.equal(draft.metadata.generation, 1);
  assert.deepEqual(draft.status, { phase: "Pending", qosClass: "BestEffort" });
});

test("a pod with scheduling gates reports that it waits for them", async () => {
  const { status } = await create(podDraft({ schedulingGates: [{ name: "example.com/wait" }] }));
  assert.deepEqual(status.conditions, [
    {
      type: "PodScheduled",
      status: "False",
      reason: "SchedulingGated",
      message: "Scheduling is blocked due to non-empty scheduling gates",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ]);
});

const spread = { topologyKey: "zone", maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" };
const expectations: [rule: string, spec: object, expected: object, metadata?: object][] = [
  [
    "a pod without a class gets priority 0 if there is no default class",
    {},
    { priority: 0, preemptionPolicy: "PreemptLowerPriority" },
  ],
  [
    "the class sets priority and preemption policy",
    { priorityClassName: "high" },
    { priority: 1000, preemptionPolicy: "Never", priorityClassName: "high" },
  ],
  [
    "a pod keeps its preemption policy if the class has none",
    { priorityClassName: "plain", preemptionPolicy: "Never" },
    { priority: 7, preemptionPolicy: "Never" },
  ],
  [
    "the priority of the class is accepted",
    { priorityClassName: "high", priority: 1000 },
    { priority: 1000 },
  ],
  [
    "a pod that tolerates one taint forever gets a time limit only for the other",
    { tolerations: [{ key: "node.kubernetes.io/not-ready", operator: "Exists" }] },
    {
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists" },
        {
          key: "node.kubernetes.io/unreachable",
          operator: "Exists",
          effect: "NoExecute",
          tolerationSeconds: 300,
        },
      ],
    },
  ],
  [
    "a pod that tolerates everything gets no default tolerations",
    { tolerations: [{ operator: "Exists" }] },
    { tolerations: [{ operator: "Exists" }] },
  ],
  [
    "a runtime class sets overhead, node selector and tolerations",
    { runtimeClassName: "vm", nodeSelector: { disk: "ssd" }, tolerations: [{ operator: "Exists" }] },
    {
      overhead: { memory: "1Mi" },
      nodeSelector: { disk: "ssd", vm: "yes" },
      tolerations: [{ operator: "Exists" }],
    },
  ],
  [
    "the overhead of the runtime class is accepted",
    { runtimeClassName: "vm", overhead: { memory: "1Mi" } },
    { overhead: { memory: "1Mi" } },
  ],
  [
    "the pull secrets of the account are added",
    { serviceAccountName: "robot" },
    { serviceAccount: "robot", imagePullSecrets: [{ name: "registry" }] },
  ],
  [
    "a pod's own pull secrets take precedence",
    { serviceAccount: "robot", imagePullSecrets: [{ name: "own" }] },
    { serviceAccountName: "robot", imagePullSecrets: [{ name: "own" }] },
  ],
  [
    "a mirror pod gets no service account",
    { nodeName: "n1", priority: 0 },
    { serviceAccountName: undefined, serviceAccount: undefined },
    mirror,
  ],
  [
    "matchLabelKeys are merged into the selector, with the pod's own labels",
    {
      topologySpreadConstraints: [
        { ...spread, labelSelector: { matchLabels: { a: "b" } }, matchLabelKeys: ["app", "none"] },
      ],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "host", labelSelector: {}, mismatchLabelKeys: ["app"] },
          ],
        },
      },
    },
    {
      topologySpreadConstraints: [
        {
          ...spread,
          labelSelector: {
            matchLabels: { a: "b" },
            matchExpressions: [{ key: "app", operator: "In", values: ["web"] }],
          },
          matchLabelKeys: ["app", "none"],
        },
      ],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey: "host",
              labelSelector: { matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] },
              mismatchLabelKeys: ["app"],
            },
          ],
        },
      },
    },
    { labels: { app: "web" } },
  ],
];
for (const [rule, spec, expected, metadata] of expectations)
  test(`admission: ${rule}`, async () => {
    const draft = await create(podDraft({ ...spec }, { ...metadata }));
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(draft.spec[field], value, field);
  });

test("the default class sets priority and class name; if there are two, the one with the lower value applies", async () => {
  const others = podObjects();
  for (const [name, value] of [
    ["b", 20],
    ["a", 10],
  ] as const)
    others.put("priorityclasses.scheduling.k8s.io", { metadata: { name }, value, globalDefault: true });
  const { spec } = await create(podDraft(), others.context());
  assert.deepEqual([spec.priority, spec.priorityClassName, spec.preemptionPolicy], [10, "a", undefined]);
});

test("a pod that is created with a node gets the node's topology labels", async () => {
  const { metadata } = await create(podDraft({ nodeName: "n1" }, { labels: { app: "web" } }));
  assert.deepEqual(metadata.labels, { app: "web", "topology.kubernetes.io/zone": "z" });
  const elsewhere = await create(podDraft({ nodeName: "unknown" }));
  assert.equal(elsewhere.metadata.labels, undefined);
});

const rejections: [rule: string, spec: object, message: string, metadata?: object][] = [
  [
    "an unknown priority class",
    { priorityClassName: "none" },
    'pods "web" is forbidden: no PriorityClass with name none was found',
  ],
  [
    "a priority that differs from that of the class",
    { priorityClassName: "high", priority: 5 },
    'pods "web" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name',
  ],
  [
    "a preemption policy that differs from that of the class",
    { priorityClassName: "high", preemptionPolicy: "PreemptLowerPriority" },
    'pods "web" is forbidden: the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from the given PriorityClass name',
  ],
  [
    "an unknown runtime class",
    { runtimeClassName: "none" },
    'pods "web" is forbidden: pod rejected: RuntimeClass "none" not found',
  ],
  [
    "overhead without a runtime class",
    { overhead: { cpu: "1" } },
    'pods "web" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
  ],
  [
    "an overhead that differs from that of the runtime class",
    { runtimeClassName: "vm", overhead: { cpu: "1" } },
    `pods "web" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`,
  ],
  [
    "a node selector that conflicts with the runtime class",
    { runtimeClassName: "vm", nodeSelector: { vm: "no" } },
    'pods "web" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
  ],
  [
    "an unknown service account",
    { serviceAccountName: "missing" },
    'pods "web" is forbidden: error looking up service account default/missing: serviceaccount "missing" not found',
  ],
  [
    "an unknown priority class of a pod with a generated name",
    { priorityClassName: "none" },
    'pods "web-" is forbidden: no PriorityClass with name none was found',
    { name: "", generateName: "web-" },
  ],
  [
    "a mirror pod with an account",
    { serviceAccountName: "robot" },
    'pods "web" is forbidden: a mirror pod may not reference service accounts',
    mirror,
  ],
  [
    "a mirror pod with a secret",
    { volumes: [{ name: "s", secret: { secretName: "s" } }] },
    'pods "web" is forbidden: a mirror pod may not reference secrets',
    mirror,
  ],
  [
    "a mirror pod with a token",
    { volumes: [{ name: "t", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] },
    'pods "web" is forbidden: a mirror pod may not use ServiceAccountToken volume projections',
    mirror,
  ],
];
for (const [rule, spec, message, metadata] of rejections)
  test(`admission rejects ${rule}`, async () => {
    await assert.rejects(create(podDraft({ ...spec }, { ...metadata })), {
      message,
      status: 403,
      reason: "Forbidden",
    });
  });

test("admission waits a limited time for the service account of a new namespace", async () => {
  const clock = new FakeClock();
  const empty = podObjects();
  const late = create(podDraft({}, { namespace: "new" }), empty.context(), { mountTokens: false, clock });
  await clock.advance(300);
  empty.put("serviceaccounts", { metadata: { name: "default", namespace: "new" } });
  await clock.advance(150);
  assert.equal((await late).spec.serviceAccountName, "default");

  const never = create(podDraft({}, { namespace: "none" }), empty.context(), { mountTokens: false, clock });
  const rejection = assert.rejects(never, /error looking up service account none\/default/);
  await clock.advance(2000);
  await rejection;
});

test("a token is mounted in each container without another mount at its path", async () => {
  const path = "/var/run/secrets/kubernetes.io/serviceaccount";
  const options = { mountTokens: true, newName: (base: string) => `${base}x7x7x` };
  const draft = podDraft({
    volumes: [{ name: "own", emptyDir: {} }],
    initContainers: [{ name: "i", image: "i:1" }],
    containers: [
      { name: "a", image: "i:1", volumeMounts: [{ name: "own", mountPath: path }] },
      { name: "b", image: "i:1" },
    ],
  });
  const { spec } = await create(draft, objects.context(), options);
  const mount = { name: "kube-api-access-x7x7x", readOnly: true, mountPath: path };
  assert.deepEqual(spec.initContainers[0].volumeMounts, [mount]);
  assert.deepEqual(spec.containers[0].volumeMounts, [{ name: "own", mountPath: path }]);
  assert.deepEqual(spec.containers[1].volumeMounts, [mount]);
  assert.deepEqual(spec.volumes[1], {
    name: "kube-api-access-x7x7x",
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
      defaultMode: 420,
    },
  });
});

test("there is no token volume if every container has another mount at its path", async () => {
  const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
  const own = { name: "own", emptyDir: {} };
  const draft = podDraft({
    volumes: [own],
    containers: [{ name: "a", image: "i:1", volumeMounts: [{ name: "own", mountPath }] }],
  });
  const { spec } = await create(draft, objects.context(), { mountTokens: true });
  assert.deepEqual(spec.volumes, [own]);
});

const automount: [rule: string, spec: object, mounted: boolean][] = [
  ["the pod opts out", { automountServiceAccountToken: false }, false],
  ["the account opts out", { serviceAccountName: "robot" }, false],
  [
    "the pod opts in although the account opts out",
    { serviceAccountName: "robot", automountServiceAccountToken: true },
    true,
  ],
  ["nothing is specified", {}, true],
];
for (const [rule, spec, mounted] of automount)
  test(`a token is ${mounted ? "" : "not "}mounted if ${rule}`, async () => {
    const draft = await create(podDraft({ ...spec }), objects.context(), { mountTokens: true });
    assert.equal(draft.spec.volumes !== undefined, mounted);
  });

test("an AppArmor annotation sets the corresponding field", async () => {
  const key = "container.apparmor.security.beta.kubernetes.io/";
  const draft = podDraft(
    { containers: ["a", "b", "c", "d"].map((name) => ({ name, image: "i:1" })) },
    {
      annotations: {
        [`${key}a`]: "unconfined",
        [`${key}b`]: "localhost/prof",
        [`${key}c`]: "nonsense",
        [`${key}d`]: "runtime/default",
      },
    },
  );
  draft.spec.securityContext = { appArmorProfile: { type: "RuntimeDefault" } };
  const { spec } = await create(draft);
  assert.deepEqual(
    spec.containers.map(
      (c: { securityContext?: { appArmorProfile: object } }) => c.securityContext?.appArmorProfile,
    ),
    [{ type: "Unconfined" }, { type: "Localhost", localhostProfile: "prof" }, undefined, undefined],
  );
});
