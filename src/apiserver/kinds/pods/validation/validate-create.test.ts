import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultPod } from "../defaults.ts";
import { messagesOf, podDraft } from "../fake-draft.ts";
import { validateCreate } from "./validate-create.ts";

type Row = [rule: string, spec: object, problems: string[], metadata?: object];

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const badLabel = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;
const badSubdomain = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${label}(\\.${label})*')`;
const badValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const image = { image: "i:1" };

function table(name: string, rows: Row[]): void {
  for (const [rule, spec, problems, metadata] of rows)
    test(`${name}: ${rule}`, () => {
      const draft = podDraft({ ...spec }, { ...metadata });
      draft.spec.serviceAccountName ??= "default";
      defaultPod(draft);
      assert.deepEqual(messagesOf(validateCreate(draft)), problems);
    });
}

table("names and metadata", [
  ["a plain pod is valid", {}, []],
  ["a bad name", {}, [`metadata.name: Invalid value: "Web_1": ${badSubdomain}`], { name: "Web_1" }],
  [
    "an invalid generateName",
    {},
    [`metadata.generateName: Invalid value: "Web-": ${badSubdomain}`],
    { generateName: "Web-" },
  ],
  ["a bad label", {}, [`metadata.labels: Invalid value: "a b": ${badValue}`], { labels: { a: "a b" } }],
  [
    "too many annotations",
    {},
    ["metadata.annotations: Too long: may not be more than 262144 bytes"],
    { annotations: { a: "x".repeat(262144) } },
  ],
  [
    "a bad owner",
    {},
    ['metadata.ownerReferences.uid: Invalid value: "": must not be empty'],
    { ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "" }] },
  ],
  [
    "a finalizer without a domain",
    {},
    [
      'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
    ],
    { finalizers: ["mine"] },
  ],
  [
    "an invalid container name",
    { containers: [{ name: "Bad", ...image }] },
    [`spec.containers[0].name: Invalid value: "Bad": ${badLabel}`],
  ],
  ["no containers", { containers: [] }, ["spec.containers: Required value"]],
  ["no image", { containers: [{ name: "c" }] }, ["spec.containers[0].image: Required value"]],
]);

table("annotations", [
  [
    "a mirror pod must have a node",
    {},
    [
      'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "h": must set spec.nodeName if mirror pod annotation is set',
    ],
    { annotations: { "kubernetes.io/config.mirror": "h" } },
  ],
  [
    "the deletion cost must be a 32-bit integer",
    {},
    [
      'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer',
    ],
    { annotations: { "controller.kubernetes.io/pod-deletion-cost": "+1" } },
  ],
  [
    "an AppArmor annotation names a container and a profile",
    {},
    [
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: "x": container not found',
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: "bad": invalid AppArmor profile name: "bad"',
    ],
    { annotations: { "container.apparmor.security.beta.kubernetes.io/x": "bad" } },
  ],
  [
    "AppArmor annotation and field agree",
    { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } },
    [
      "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match",
    ],
    { annotations: { "container.apparmor.security.beta.kubernetes.io/c": "unconfined" } },
  ],
  [
    "seccomp annotation and field agree",
    { securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "a" } } },
    [
      "spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in annotation and field must match",
    ],
    { annotations: { "seccomp.security.alpha.kubernetes.io/pod": "localhost/b" } },
  ],
  [
    "a seccomp annotation names a profile",
    {},
    [
      'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid seccomp profile',
    ],
    { annotations: { "seccomp.security.alpha.kubernetes.io/pod": "x" } },
  ],
]);

const nodeRequired = (...matchExpressions: object[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
    },
  },
});
const nodePath =
  "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
const podPath = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";
const podRequired = (term: object) => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
});

table("affinity", [
  ["a valid constraint", nodeRequired({ key: "disk", operator: "In", values: ["ssd"] }), []],
  [
    "a selector without terms",
    {
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } },
      },
    },
    [`${nodePath}: Required value: must have at least one node selector term`],
  ],
  [
    "operators and their values",
    nodeRequired(
      { key: "a", operator: "In" },
      { key: "a", operator: "Exists", values: ["x"] },
      { key: "a", operator: "Gt", values: ["1", "2"] },
      { key: "a", operator: "Like" },
      { key: "a", operator: "In", values: ["a b"] },
    ),
    [
      `${nodePath}[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      `${nodePath}[0].matchExpressions[1].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      `${nodePath}[0].matchExpressions[2].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
      `${nodePath}[0].matchExpressions[3].operator: Invalid value: "Like": not a valid selector operator`,
      `${nodePath}[0].matchExpressions[4].values[0]: Invalid value: "a b": ${badValue}`,
    ],
  ],
  [
    "fields of nodes: only the name",
    {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchFields: [
                  { key: "spec.x", operator: "In", values: ["a"] },
                  { key: "metadata.name", operator: "Exists" },
                ],
              },
            ],
          },
        },
      },
    },
    [
      `${nodePath}[0].matchFields[0].key: Invalid value: "spec.x": not a valid field selector key`,
      `${nodePath}[0].matchFields[1].operator: Invalid value: "Exists": not a valid selector operator`,
    ],
  ],
  [
    "weights, and preferences that no label can match",
    {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 101,
              preference: { matchExpressions: [{ key: "a", operator: "In", values: ["a b"] }] },
            },
          ],
        },
      },
    },
    [
      "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100",
    ],
  ],
  [
    "a term about pods needs a topology key",
    podRequired({ labelSelector: {} }),
    [
      `${podPath}.topologyKey: Required value: can not be empty`,
      `${podPath}.topologyKey: Invalid value: "": name part must be non-empty`,
      `${podPath}.topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
  ],
  [
    "label keys need a selector",
    podRequired({ topologyKey: "zone", matchLabelKeys: ["app"] }),
    [`${podPath}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`],
  ],
  [
    "a label key may be in the selector once, since it is merged into it",
    podRequired({
      topologyKey: "zone",
      matchLabelKeys: ["app"],
      labelSelector: { matchExpressions: [{ key: "app", operator: "In", values: ["x"] }] },
    }),
    [],
  ],
  [
    "a label key is not in the selector too, nor in both lists",
    podRequired({
      topologyKey: "zone",
      matchLabelKeys: ["app"],
      mismatchLabelKeys: ["app"],
      labelSelector: {
        matchLabels: { app: "x" },
        matchExpressions: [{ key: "app", operator: "In", values: ["x"] }],
      },
    }),
    [
      `${podPath}[0]: Invalid value: "app": exists in both matchLabelKeys and labelSelector`,
      `${podPath}.matchLabelKeys[0]: Invalid value: "app": exists in both matchLabelKeys and mismatchLabelKeys`,
    ],
  ],
]);

const spread = { topologyKey: "zone", maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" };
const spreadPath = "spec.topologySpreadConstraints[0]";
table("topology spread", [
  ["a valid constraint", { topologySpreadConstraints: [{ ...spread, minDomains: 2 }] }, []],
  [
    "an invalid constraint",
    {
      topologySpreadConstraints: [
        { maxSkew: 0, whenUnsatisfiable: "Maybe", minDomains: 0, nodeTaintsPolicy: "No" },
      ],
    },
    [
      `${spreadPath}.maxSkew: Invalid value: 0: must be greater than zero`,
      `${spreadPath}.topologyKey: Required value: can not be empty`,
      `${spreadPath}.whenUnsatisfiable: Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"`,
      `${spreadPath}.minDomains: Invalid value: 0: must be greater than zero`,
      `${spreadPath}.minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not Maybe`,
      `${spreadPath}.nodeTaintsPolicy: Unsupported value: "No": supported values: "Honor", "Ignore"`,
    ],
  ],
  [
    "one constraint of a kind",
    { topologySpreadConstraints: [spread, { ...spread, maxSkew: 2 }] },
    [`${spreadPath}.{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"`],
  ],
]);

table("tolerations and gates", [
  [
    "invalid tolerations",
    {
      tolerations: [
        { operator: "Equal", value: "x" },
        { key: "a", operator: "Exists", value: "x" },
        { key: "a", effect: "NoSchedule", tolerationSeconds: 1 },
        { key: "a", operator: "Like" },
        { key: "a", effect: "Sometimes" },
        { key: "a", value: "a b" },
      ],
    },
    [
      'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
      "spec.tolerations[1].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
      "spec.tolerations[2].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
      'spec.tolerations[3].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
      'spec.tolerations[4].effect: Unsupported value: "Sometimes": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      `spec.tolerations[5].operator: Invalid value: "a b": ${badValue}`,
    ],
  ],
  ["gates are allowed on a pod without a node", { schedulingGates: [{ name: "a/b" }] }, []],
  [
    "a duplicate gate, and a gated pod with a node",
    { nodeName: "n", schedulingGates: [{ name: "a/b" }, { name: "a/b" }] },
    [
      'spec.schedulingGates[1]: Duplicate value: "a/b"',
      "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
    ],
  ],
  [
    "a selector of nodes",
    { nodeSelector: { a: "a b" } },
    [`spec.nodeSelector: Invalid value: "a b": ${badValue}`],
  ],
  [
    "a host alias",
    { hostAliases: [{ ip: "1.2.3", hostnames: ["a"] }] },
    [
      'spec.hostAliases[0].ip: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  ],
]);

table("init and ephemeral containers, claims, tokens", [
  [
    "ephemeral containers may not be set on create",
    { ephemeralContainers: [{ name: "debug", ...image }] },
    ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
  ],
  [
    "an init container that runs once is not restarted to resize it",
    {
      initContainers: [
        { name: "i", ...image, resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] },
      ],
    },
    [
      "spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: \"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar initContainers",
    ],
  ],
  [
    "claims need a unique name and one source",
    {
      resourceClaims: [
        { name: "a", resourceClaimName: "x" },
        { name: "a", resourceClaimName: "x", resourceClaimTemplateName: "y" },
        { name: "b" },
      ],
    },
    [
      'spec.resourceClaims[1].name: Duplicate value: "a"',
      'spec.resourceClaims[1]: Invalid value: {"name":"a","resourceClaimName":"x","resourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
      'spec.resourceClaims[2]: Invalid value: {"name":"b"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
    ],
  ],
]);

test("a token can only be projected for an account", () => {
  const draft = podDraft({
    volumes: [{ name: "t", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }],
  });
  defaultPod(draft);
  assert.deepEqual(messagesOf(validateCreate(draft)), [
    "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
  ]);
});
