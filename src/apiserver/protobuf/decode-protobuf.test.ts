import assert from "node:assert/strict";
import { test } from "node:test";
import { type FieldType, type StructType, underlying } from "../../lib/schema/field-type.ts";
import { packages } from "../../lib/schema/packages.ts";
import { decodeProtobuf } from "./decode-protobuf.ts";

// Messages recorded from kubectl 1.32, or 1.36 where noted.
const sent: { command: string; base64: string; json: object }[] = [
  {
    command: "create configmap a --from-literal=k=v",
    base64: "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhsKEQoBYRIAGgAiACoAMgA4AEIAEgYKAWsSAXYaACIA",
    json: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "v" } },
  },
  {
    command: "create secret generic s --from-literal=k=v",
    base64: "azhzAAoMCgJ2MRIGU2VjcmV0Eh0KEQoBcxIAGgAiACoAMgA4AEIAEgYKAWsSAXYaABoAIgA=",
    json: { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: { k: "dg==" } },
  },
  {
    command:
      "create token sa --duration=10m --bound-object-kind=Pod --bound-object-name=p --bound-object-uid=u",
    base64:
      "azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIuChAKABIAGgAiACoAMgA4AEIAEhQaDwoDUG9kEgJ2MRoBcCIBdSDYBBoECgASABoAIgA=",
    json: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: {},
      spec: {
        boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p", uid: "u" },
        expirationSeconds: 600,
      },
      status: {},
    },
  },
  {
    command: "auth can-i list pods",
    base64:
      "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSPQoQCgASABoAIgAqADIAOABCABIfCh0KB2RlZmF1bHQSBGxpc3QaACIAKgRwb2RzMgA6ABoICAASABoAIAAaACIA",
    json: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      metadata: {},
      spec: { resourceAttributes: { namespace: "default", verb: "list", resource: "pods" } },
      status: { allowed: false },
    },
  },
  {
    command: "debug node/n --image=busybox --profile=sysadmin",
    base64:
      "azhzAAoJCgJ2MRIDUG9kEs4BCiUKFW5vZGUtZGVidWdnZXItbi1zYjk1aBIAGgAiACoAMgA4AEIAEpIBChIKCWhvc3Qtcm9vdBIFCgMKAS8SSQoIZGVidWdnZXISB2J1c3lib3gqAEIAShgKCWhvc3Qtcm9vdBAAGgUvaG9zdCIAMgBqAHIAegIQAYABAYgBAJABAKIBBEZpbGUaBU5ldmVyMgBCAEoAUgFuWAFgAWgBggEAigEAmgEAsgEOCgASBkV4aXN0cxoAIgDCAQAaEAoAGgAiACoAMgBKAFoAcgAaACIA",
    json: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "node-debugger-n-sb95h" },
      spec: {
        volumes: [{ name: "host-root", hostPath: { path: "/" } }],
        containers: [
          {
            name: "debugger",
            image: "busybox",
            resources: {},
            volumeMounts: [{ name: "host-root", mountPath: "/host" }],
            securityContext: { privileged: true },
            stdin: true,
            terminationMessagePolicy: "File",
          },
        ],
        restartPolicy: "Never",
        nodeName: "n",
        hostNetwork: true,
        hostPID: true,
        hostIPC: true,
        tolerations: [{ operator: "Exists" }],
      },
      status: {},
    },
  },
  {
    command: "create service clusterip svc --tcp=80:http",
    base64:
      "azhzAAoNCgJ2MRIHU2VydmljZRJsCh8KA3N2YxIAGgAiACoAMgA4AEIAWgoKA2FwcBIDc3ZjEkUKHgoHODAtaHR0cBIDVENQGFAiCggBEAAaBGh0dHAoABIKCgNhcHASA3N2YxoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA==",
    json: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "svc", labels: { app: "svc" } },
      spec: {
        ports: [{ name: "80-http", protocol: "TCP", port: 80, targetPort: "http" }],
        selector: { app: "svc" },
        type: "ClusterIP",
      },
      status: { loadBalancer: {} },
    },
  },
  {
    command: "create priorityclass pc36 --value=0 --description=x",
    base64:
      "azhzAAolChRzY2hlZHVsaW5nLms4cy5pby92MRINUHJpb3JpdHlDbGFzcxIzChQKBHBjMzYSABoAIgAqADIAOABCABAAGAAiAXgqFFByZWVtcHRMb3dlclByaW9yaXR5GgAiAA==",
    json: {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name: "pc36" },
      value: 0,
      description: "x",
      preemptionPolicy: "PreemptLowerPriority",
    },
  },
  {
    command: "auth whoami",
    base64:
      "azhzAAotChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESEVNlbGZTdWJqZWN0UmV2aWV3EhoKEAoAEgAaACIAKgAyADgAQgASBgoECgASABoAIgA=",
    json: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
      metadata: {},
      status: { userInfo: {} },
    },
  },
  {
    command: "debug node/nd --image=busybox (1.36)",
    base64:
      "azhzAAoJCgJ2MRIDUG9kEv4BClUKFm5vZGUtZGVidWdnZXItbmQtN3oycXYSABoAIgAqADIAOABCAFotChxhcHAua3ViZXJuZXRlcy5pby9tYW5hZ2VkLWJ5Eg1rdWJlY3RsLWRlYnVnEo8BChIKCWhvc3Qtcm9vdBIFCgMKAS8SRQoIZGVidWdnZXISB2J1c3lib3gqAEIAShgKCWhvc3Qtcm9vdBAAGgUvaG9zdCIAMgBqAHIAgAEAiAEAkAEAogEERmlsZRoFTmV2ZXIyAEIASgBSAm5kWAFgAWgBggEAigEAmgEAsgEOCgASBkV4aXN0cxoAIgDCAQAaEwoAGgAiACoAMgBKAFoAcgCIAQAaACIA",
    json: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "node-debugger-nd-7z2qv",
        labels: { "app.kubernetes.io/managed-by": "kubectl-debug" },
      },
      spec: {
        volumes: [{ name: "host-root", hostPath: { path: "/" } }],
        containers: [
          {
            name: "debugger",
            image: "busybox",
            resources: {},
            volumeMounts: [{ name: "host-root", mountPath: "/host" }],
            terminationMessagePolicy: "File",
          },
        ],
        restartPolicy: "Never",
        nodeName: "nd",
        hostNetwork: true,
        hostPID: true,
        hostIPC: true,
        tolerations: [{ operator: "Exists" }],
      },
      status: {},
    },
  },
];

for (const { command, base64, json } of sent)
  test(`kubectl ${command}`, () => {
    assert.deepEqual(decodeProtobuf(Buffer.from(base64, "base64")), json);
  });

/** An encoded object of a kind. */
function message(apiVersion: string, kind: string, raw: Buffer): Buffer {
  const type = Buffer.concat([field(1, apiVersion), field(2, kind)]);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, type), field(2, raw)]);
}

function field(number: number, value: string | Buffer | number): Buffer {
  if (typeof value === "number") return Buffer.from([number << 3, value]);
  const bytes = Buffer.from(value as string);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

test("empty values of optional fields are kept", () => {
  const options = message("v1", "DeleteOptions", Buffer.concat([field(1, 0), field(3, 0), field(5, "All")]));
  assert.deepEqual(decodeProtobuf(options), {
    apiVersion: "v1",
    kind: "DeleteOptions",
    gracePeriodSeconds: 0,
    orphanDependents: false,
    dryRun: ["All"],
  });
});

test("times and quantities have their JSON form", () => {
  const meta = field(8, Buffer.from([0x08, 0x80, 0xe7, 0x84, 0x0f])); // a year
  const resources = field(1, Buffer.concat([field(1, "cpu"), field(2, field(1, "500m"))]));
  const container = Buffer.concat([field(1, "c"), field(8, resources)]);
  const pod = message("v1", "Pod", Buffer.concat([field(1, meta), field(2, field(2, container))]));
  assert.deepEqual(decodeProtobuf(pod), {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { creationTimestamp: "1971-01-01T00:00:00Z" },
    spec: { containers: [{ name: "c", resources: { limits: { cpu: "500m" } } }] },
  });
});

const config = { group: "", version: "v1", kind: "ConfigMap" };

const unusual: [string, Buffer, object][] = [
  [
    "a message that is sent twice is merged",
    message("v1", "ConfigMap", Buffer.concat([field(1, field(1, "a")), field(1, field(3, "n"))])),
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "n" } },
  ],
  [
    "the last value of a string wins, even if it is empty",
    message("v1", "ConfigMap", field(1, Buffer.concat([field(1, "a"), field(3, "n"), field(3, "")]))),
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } },
  ],
  [
    "a map entry without a value is empty",
    message("v1", "ConfigMap", Buffer.concat([field(2, field(1, "k")), field(3, field(1, "b"))])),
    { apiVersion: "v1", kind: "ConfigMap", data: { k: "" }, binaryData: { b: "" } },
  ],
  [
    "a map key can be __proto__",
    message("v1", "ConfigMap", field(2, Buffer.concat([field(1, "__proto__"), field(2, "v")]))),
    { apiVersion: "v1", kind: "ConfigMap", data: JSON.parse('{"__proto__":"v"}') },
  ],
  [
    "a list of numbers can be packed",
    message("v1", "Pod", field(2, field(14, field(4, Buffer.from([1, 0x80, 1]))))),
    {
      apiVersion: "v1",
      kind: "Pod",
      spec: { securityContext: { supplementalGroups: [1, 128] } },
    },
  ],
  [
    "groups are skipped, including nested ones",
    message("v1", "ConfigMap", Buffer.concat([Buffer.from([0x4b, 0x4b, 8, 1, 0x4c, 0x4c]), field(4, 1)])),
    { apiVersion: "v1", kind: "ConfigMap", immutable: true },
  ],
  [
    "a message without a kind is of the expected kind",
    Buffer.concat([Buffer.from("k8s\0"), field(2, field(4, 1))]),
    { apiVersion: "v1", kind: "ConfigMap", immutable: true },
  ],
];
for (const [rule, bytes, json] of unusual)
  test(rule, () => {
    assert.deepEqual(decodeProtobuf(bytes, config), json);
  });

/** A Lease with this renewTime. */
function renewed(...time: (bigint | undefined)[]): Buffer {
  const parts = time.map((part, at) => Buffer.from([(at + 1) << 3, ...varint(part ?? 0n)]));
  return message("coordination.k8s.io/v1", "Lease", field(2, field(4, Buffer.concat(parts))));
}

function varint(value: bigint): number[] {
  const low = BigInt.asUintN(64, value);
  return low < 0x80n ? [Number(low)] : [Number(low & 0x7fn) | 0x80, ...varint(low >> 7n)];
}

const times: [string, Buffer, string | undefined][] = [
  ["microseconds are kept, nanoseconds are dropped", renewed(1n, 123456789n), "1970-01-01T00:00:01.123456Z"],
  ["nanoseconds can be negative", renewed(1n, -1000n), "1970-01-01T00:00:00.999999Z"],
  ["it can be before 1970", renewed(-1n, 0n), "1969-12-31T23:59:59.000000Z"],
  ["the zero time is absent", renewed(-62135596800n), undefined],
];
for (const [rule, bytes, expected] of times)
  test(`a time: ${rule}`, () => {
    const { spec } = decodeProtobuf(bytes) as { spec: { renewTime?: string } };
    assert.equal(spec.renewTime, expected);
  });

test("unknown fields of newer clients are dropped", () => {
  const map = message("v1", "ConfigMap", Buffer.concat([field(1, field(1, "a")), field(15, "new")]));
  assert.deepEqual(decodeProtobuf(map), { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } });
});

const someMap = Buffer.from(sent[0]!.base64, "base64");
const broken: [string, Buffer, string][] = [
  [
    "a body that is not protobuf",
    Buffer.from("{}"),
    "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})",
  ],
  [
    "a message with another prefix",
    Buffer.alloc(40),
    `the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (${"00".repeat(30)} ...)`,
  ],
  [
    "a truncated message",
    someMap.subarray(0, 30),
    "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a01611200)",
  ],
  [
    "a truncated object",
    message("v1", "ConfigMap", Buffer.from([0x0a, 9])),
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF',
  ],
  [
    "an unknown kind",
    message("v1", "Gadget", Buffer.alloc(0)),
    'Gadget in version "v1" cannot be handled as a ConfigMap: no kind "Gadget" is registered for version "v1"',
  ],
  [
    "a number instead of a string",
    message("v1", "ConfigMap", field(1, 7)),
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field 1',
  ],
  [
    "an unterminated varint",
    message("v1", "ConfigMap", Buffer.alloc(11, 0xff)),
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: integer overflow',
  ],
  [
    "an end-group tag without a group",
    message("v1", "ConfigMap", Buffer.from([0x4c])),
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: wiretype end group for non-group',
  ],
  [
    "a time out of range",
    renewed(2n ** 62n),
    'Lease in version "v1" cannot be handled as a ConfigMap: a time must be in the years from 1 to 9999',
  ],
];
for (const [what, bytes, error] of broken)
  test(`${what} is rejected`, () => {
    assert.throws(() => decodeProtobuf(bytes, config), {
      status: 400,
      reason: "BadRequest",
      message: error,
    });
  });

test("a million unterminated groups are rejected", () => {
  const raw = Buffer.alloc(1_000_000, 0x4b);
  const length = Buffer.from([0x12, ...varint(BigInt(raw.length))]);
  const bytes = Buffer.concat([Buffer.from("k8s\0"), length, raw]);
  assert.throws(() => decodeProtobuf(bytes, config), /unexpected EOF/);
});

test("no type contains itself, so decoding terminates", () => {
  const visit = (type: StructType, above: readonly StructType[]): void => {
    assert.ok(!above.includes(type), [...above, type].map(({ name }) => name).join(" > "));
    for (const field of type.fields.values())
      for (const inner of structsIn(field.type)) visit(inner, [...above, type]);
  };
  for (const { structs } of packages) for (const type of structs) visit(type, []);
});

function structsIn(type: FieldType): StructType[] {
  const under = underlying(type);
  if (under.kind === "struct") return [under];
  if (under.kind === "list") return structsIn(under.items);
  return under.kind === "map" ? structsIn(under.values) : [];
}
