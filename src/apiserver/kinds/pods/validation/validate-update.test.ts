import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "../../../definition.ts";
import { changed, messagesOf, storedPod } from "../fake-draft.ts";
import { prepareUpdate } from "../pod-definition.ts";
import { validateUpdate } from "./validate-update.ts";

const only =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const waiting = { schedulingGates: [{ name: "example.com/a" }, { name: "example.com/b" }] };
const toleration = { key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
const required = (...terms: object[]) => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
});
const ssd = { key: "disk", operator: "In", values: ["ssd"] };
const fast = { key: "net", operator: "Exists" };

type Row = [rule: string, spec: object, change: (draft: Unstructured) => void, ...beginnings: string[]];

const rows: Row[] = [
  ["nothing", {}, () => {}],
  [
    "images",
    { initContainers: [{ name: "i", image: "i:1" }] },
    ({ spec }) => {
      spec.containers[0].image = "example/app:2";
      spec.initContainers[0].image = "i:2";
    },
  ],
  [
    "labels",
    {},
    ({ metadata }) => {
      metadata.labels = { a: "b" };
    },
  ],
  [
    "an empty image",
    {},
    ({ spec }) => {
      spec.containers[0].image = "";
    },
    "spec.containers[0].image: Required value",
  ],
  [
    "another container",
    {},
    ({ spec }) => {
      spec.containers.push({ name: "d", image: "i:1" });
    },
    "spec.containers: Forbidden: pod updates may not add or remove containers",
  ],
  [
    "an init container",
    {},
    ({ spec }) => {
      spec.initContainers = [{ name: "d", image: "i:1" }];
    },
    "spec.initContainers: Forbidden: pod updates may not add or remove containers",
  ],
  [
    "a deadline where there was none",
    {},
    ({ spec }) => {
      spec.activeDeadlineSeconds = 10;
    },
  ],
  [
    "a shorter deadline",
    { activeDeadlineSeconds: 10 },
    ({ spec }) => {
      spec.activeDeadlineSeconds = 9;
    },
  ],
  [
    "a longer deadline",
    { activeDeadlineSeconds: 10 },
    ({ spec }) => {
      spec.activeDeadlineSeconds = 11;
    },
    "spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value",
  ],
  [
    "a removed deadline",
    { activeDeadlineSeconds: 10 },
    ({ spec }) => {
      delete spec.activeDeadlineSeconds;
    },
    "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
  ],
  [
    "one more toleration",
    { tolerations: [toleration] },
    ({ spec }) => {
      spec.tolerations.push({ key: "b", operator: "Exists" });
    },
  ],
  [
    "a toleration with other tolerationSeconds",
    { tolerations: [toleration] },
    ({ spec }) => {
      spec.tolerations[0].tolerationSeconds = 6;
    },
  ],
  [
    "another toleration",
    { tolerations: [toleration] },
    ({ spec }) => {
      spec.tolerations[0].key = "b";
    },
    "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
  ],
  [
    "a limit for an unlimited toleration",
    { terminationGracePeriodSeconds: -1 },
    ({ spec }) => {
      spec.terminationGracePeriodSeconds = 1;
    },
  ],
  [
    "another grace period",
    {},
    ({ spec }) => {
      spec.terminationGracePeriodSeconds = 1;
    },
    `spec: Forbidden: ${only}\n@@ `,
  ],
  [
    "a node",
    {},
    ({ spec }) => {
      spec.nodeName = "n1";
    },
    `spec: Forbidden: ${only}\n@@ `,
  ],
  [
    "resources",
    {},
    ({ spec }) => {
      spec.containers[0].resources = { requests: { cpu: "1" } };
    },
    `spec: Forbidden: ${only}\n@@ `,
  ],
  [
    "a removed gate",
    waiting,
    ({ spec }) => {
      spec.schedulingGates.shift();
    },
  ],
  [
    "removal of all gates",
    waiting,
    ({ spec }) => {
      delete spec.schedulingGates;
    },
  ],
  [
    "a new gate",
    waiting,
    ({ spec }) => {
      spec.schedulingGates[0].name = "example.com/c";
    },
    "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'example.com/c'",
  ],
  [
    "an addition to nodeSelector, with gates",
    waiting,
    ({ spec }) => {
      spec.nodeSelector = { disk: "ssd" };
    },
  ],
  [
    "an addition to nodeSelector, without gates",
    {},
    ({ spec }) => {
      spec.nodeSelector = { disk: "ssd" };
    },
    `spec: Forbidden: ${only}\n@@ `,
  ],
  [
    "a changed nodeSelector",
    { ...waiting, nodeSelector: { disk: "ssd" } },
    ({ spec }) => {
      spec.nodeSelector = { disk: "hdd" };
    },
    'spec.nodeSelector: Invalid value: {"disk":"hdd"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
  ],
  [
    "new affinity, with gates",
    waiting,
    ({ spec }) => {
      spec.affinity = required({ matchExpressions: [ssd] });
    },
  ],
  [
    "narrower affinity, with gates",
    { ...waiting, affinity: required({ matchExpressions: [ssd] }) },
    ({ spec }) => {
      spec.affinity = required({ matchExpressions: [ssd, fast] });
    },
  ],
  [
    "another term of affinity",
    { ...waiting, affinity: required({ matchExpressions: [ssd] }) },
    ({ spec }) => {
      spec.affinity = required({ matchExpressions: [ssd] }, { matchExpressions: [fast] });
    },
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: ",
  ],
  [
    "wider affinity",
    { ...waiting, affinity: required({ matchExpressions: [ssd, fast] }) },
    ({ spec }) => {
      spec.affinity = required({ matchExpressions: [ssd] });
    },
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: {"matchExpressions":[{"key":"disk","operator":"In","values":["ssd"]}]}: only additions are allowed (no mutations or deletions)',
  ],
  [
    "removed affinity",
    { ...waiting, affinity: required({ matchExpressions: [ssd] }) },
    ({ spec }) => {
      delete spec.affinity;
    },
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: []: no additions/deletions",
  ],
  [
    "pod affinity, even with gates",
    waiting,
    ({ spec }) => {
      spec.affinity = {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "a", labelSelector: {} }],
        },
      };
    },
    `spec: Forbidden: ${only}\n@@ `,
  ],
];
for (const [rule, spec, change, ...beginnings] of rows)
  test(`${beginnings.length === 0 ? "can" : "cannot"} be changed: ${rule}`, () => {
    const before = storedPod({ serviceAccountName: "default", ...spec });
    const found = messagesOf(validateUpdate(changed(before, change), before));
    assert.equal(found.length, beginnings.length, found.join(" | "));
    for (const [i, beginning] of beginnings.entries())
      assert.ok(found[i]?.startsWith(beginning), `${found[i]} should begin with ${beginning}`);
  });

test("the message contains a diff with context lines", () => {
  const before = storedPod({ hostname: "a" });
  const [problem] = validateUpdate(
    changed(before, ({ spec }) => {
      spec.hostname = "b";
    }),
    before,
  );
  assert.equal(
    problem?.message,
    `Forbidden: ${only}\n@@ -11,7 +11,7 @@\n  ],\n  "dnsPolicy": "ClusterFirst",\n  "enableServiceLinks": true,\n- "hostname": "a",\n+ "hostname": "b",\n  "restartPolicy": "Always",\n  "schedulerName": "default-scheduler",\n  "securityContext": {},\n`,
  );
});

test("fields that admission set are kept, so that the manifest of a pod can be applied to it", () => {
  const before = storedPod({
    priority: 5,
    preemptionPolicy: "Never",
    tolerations: ["not-ready", "unreachable"].map((name) => ({
      key: `node.kubernetes.io/${name}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    })),
  });
  const draft = changed(before, ({ spec }) => {
    for (const field of ["priority", "preemptionPolicy", "tolerations"]) delete spec[field];
  });
  draft.status = { phase: "Running" };
  prepareUpdate(draft, before);
  assert.deepEqual(messagesOf(validateUpdate(draft, before)), []);
  assert.deepEqual(draft.status, before.status);
});

const mirrored = { annotations: { "kubernetes.io/config.mirror": "h" } };
test("the mirror pod annotation is immutable", () => {
  const path = "metadata.annotations[kubernetes.io/config.mirror]";
  const mirror = storedPod({ nodeName: "n1" }, mirrored);
  assert.deepEqual(
    messagesOf(
      validateUpdate(
        changed(mirror, ({ metadata }) => delete metadata.annotations),
        mirror,
      ),
    ),
    [`${path}: Forbidden: may not remove or update mirror pod annotation`],
  );
  const plain = storedPod({ nodeName: "n1" });
  assert.deepEqual(
    messagesOf(
      validateUpdate(
        changed(plain, ({ metadata }) => Object.assign(metadata, mirrored)),
        plain,
      ),
    ),
    [`${path}: Forbidden: may not add mirror pod annotation`],
  );
});
