import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { selectableFields } from "./field-labels.ts";
import { matchesFields, parseFieldSelector, requiredField } from "./field-selector.ts";

const pod = {
  metadata: { name: "p", namespace: "d" },
  spec: {
    nodeName: "n1",
    restartPolicy: "Always",
    schedulerName: "s",
    serviceAccountName: "default",
    hostNetwork: true,
  },
  status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }], nominatedNodeName: "n2" },
};
const event = {
  metadata: { name: "e", namespace: "d" },
  involvedObject: { kind: "Pod", name: "p", namespace: "d", uid: "u", fieldPath: "spec.containers{a}" },
  reason: "Pulled",
  type: "Normal",
  source: { component: "kubelet" },
};

const table: [
  apiVersion: string,
  kind: string,
  object: Record<string, unknown>,
  selector: string,
  matches: boolean,
][] = [
  ["v1", "Pod", pod, "", true],
  ["v1", "Pod", pod, "metadata.name=p,metadata.namespace=d", true],
  ["v1", "Pod", pod, "metadata.name!=p", false],
  ["v1", "Pod", pod, "spec.nodeName=n1", true],
  ["v1", "Pod", pod, "spec.host==n1", true],
  ["v1", "Pod", pod, "spec.nodeName=", false],
  ["v1", "Pod", { metadata: {} }, "spec.nodeName=", true],
  ["v1", "Pod", pod, "status.phase!=Succeeded,status.phase!=Failed", true],
  ["v1", "Pod", pod, "status.phase!=Running", false],
  ["v1", "Pod", pod, "spec.restartPolicy=Always,spec.schedulerName=s,spec.serviceAccountName=default", true],
  ["v1", "Pod", pod, "status.podIP=10.0.0.1,status.nominatedNodeName=n2", true],
  ["v1", "Pod", pod, "spec.hostNetwork=true", true],
  ["v1", "Pod", { metadata: {} }, "spec.hostNetwork=false", true],
  ["v1", "Node", { metadata: { name: "n" }, spec: { unschedulable: true } }, "spec.unschedulable=true", true],
  ["v1", "Node", { metadata: { name: "n" } }, "spec.unschedulable=false", true],
  ["v1", "Secret", { type: "Opaque" }, "type=Opaque", true],
  ["v1", "Secret", { type: "Opaque" }, "type!=Opaque", false],
  ["v1", "Namespace", { status: { phase: "Active" } }, "status.phase=Active", true],
  [
    "v1",
    "Service",
    { spec: { type: "ClusterIP", clusterIP: "None" } },
    "spec.clusterIP=None,spec.type=ClusterIP",
    true,
  ],
  ["v1", "Event", event, "involvedObject.kind=Pod,involvedObject.name=p,involvedObject.uid=u", true],
  [
    "v1",
    "Event",
    event,
    "involvedObject.fieldPath=spec.containers{a},reason=Pulled,type=Normal,source=kubelet",
    true,
  ],
  ["v1", "Event", { reportingComponent: "x" }, "source=x,reportingComponent=x", true],
  [
    "events.k8s.io/v1",
    "Event",
    { regarding: { name: "p" }, reportingController: "k" },
    "regarding.name=p,reportingController=k",
    true,
  ],
  ["v1", "ConfigMap", { metadata: { name: "a,b=c\\d" } }, "metadata.name=a\\,b\\=c\\\\d", true],
  ["coordination.k8s.io/v1", "Lease", { metadata: { name: "n" } }, "metadata.name=n", true],
  [
    "certificates.k8s.io/v1",
    "CertificateSigningRequest",
    { spec: { signerName: "s" } },
    "spec.signerName=s",
    true,
  ],
];

for (const [apiVersion, kind, object, selector, matches] of table)
  test(`${kind} ${JSON.stringify(object.metadata ?? {})} ${selector}: ${matches}`, () => {
    const parsed = parseFieldSelector(selector, apiVersion, kind);
    assert.equal(matchesFields(parsed, selectableFields(apiVersion, kind, object)), matches);
  });

describe("rejections", () => {
  const wrong: [kind: string, selector: string, message: string][] = [
    ["Pod", "spec.foo=x", "field label not supported: spec.foo"],
    ["Pod", "constructor=x", "field label not supported: constructor"],
    ["Node", "metadata.namespace=x", "field label not supported: metadata.namespace"],
    [
      "ConfigMap",
      "data=x",
      '"data" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
    ["Pod", "spec.nodeName", "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'"],
    ["Pod", "metadata.name=a=b", "invalid field selector: unescaped character in value: 61"],
    ["Pod", "metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"],
  ];
  for (const [kind, selector, message] of wrong)
    test(message, () =>
      assert.throws(() => parseFieldSelector(selector, "v1", kind), { code: "BadRequest", message }),
    );
});

test("a selector that allows one value of a field names it", () => {
  const selector = parseFieldSelector("metadata.name=p,status.phase!=Failed", "v1", "Pod");
  assert.equal(requiredField(selector, "metadata.name"), "p");
  assert.equal(requiredField(selector, "status.phase"), undefined);
});
