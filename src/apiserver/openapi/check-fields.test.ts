import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkFields } from "./check-fields.ts";

function podWith(container: object): object {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: { containers: [container] } };
}

describe("unknown fields are reported with their path", () => {
  const rows: [string, object, string[]][] = [
    ["Pod", podWith({ name: "c", image: "x" }), []],
    ["Pod", podWith({ name: "c", foo: 1 }), ["spec.containers[0].foo"]],
    ["Pod", { ...podWith({ Name: "c" }), extra: {} }, ["spec.containers[0].Name", "extra"]],
    ["Pod", { metadata: { labels: { anything: "goes" }, lables: {} } }, ["metadata.lables"]],
    [
      "Pod",
      { spec: { volumes: [{ name: "v" }, { hostPath: { pth: "/" } }] } },
      ["spec.volumes[1].hostPath.pth"],
    ],
    ["Pod", { metadata: { managedFields: [{ fieldsV1: { "f:x": {} } }] } }, []],
    [
      "Pod",
      JSON.parse('{"spec": {"__proto__": 1, "constructor": 2}}'),
      ["spec.__proto__", "spec.constructor"],
    ],
    ["Deployment", { whatever: true }, []],
  ];
  for (const [kind, value, expected] of rows)
    test(`${kind} ${JSON.stringify(value)}`, () =>
      assert.deepEqual(checkFields("", "v1", kind, value), { unknown: expected, problems: [] }));

  test("at most a hundred are reported", () => {
    const fields = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`f${i}`, 1]));
    assert.equal(checkFields("", "v1", "Pod", fields).unknown.length, 100);
  });
});

describe("type mismatches have the messages of Go's JSON decoder", () => {
  const into = "json: cannot unmarshal";
  const field = "into Go struct field";
  const rows: [string, object, string][] = [
    ["Pod", podWith({ name: 1 }), `${into} number ${field} Container.spec.containers.name of type string`],
    [
      "Pod",
      { spec: { containers: {} } },
      `${into} object ${field} PodSpec.spec.containers of type []v1.Container`,
    ],
    [
      "Pod",
      { spec: { containers: ["a"] } },
      `${into} string ${field} PodSpec.spec.containers of type v1.Container`,
    ],
    ["Pod", { spec: [] }, `${into} array ${field} Pod.spec of type v1.PodSpec`],
    [
      "Pod",
      { spec: { restartPolicy: true } },
      `${into} bool ${field} PodSpec.spec.restartPolicy of type v1.RestartPolicy`,
    ],
    [
      "Pod",
      { spec: { activeDeadlineSeconds: 1.5 } },
      `${into} number 1.5 ${field} PodSpec.spec.activeDeadlineSeconds of type int64`,
    ],
    [
      "Pod",
      { spec: { terminationGracePeriodSeconds: 2 ** 53 } },
      `${into} number 9007199254740992 ${field} PodSpec.spec.terminationGracePeriodSeconds of type int64`,
    ],
    [
      "Pod",
      { spec: { priority: 3e9 } },
      `${into} number 3000000000 ${field} PodSpec.spec.priority of type int32`,
    ],
    [
      "Pod",
      { spec: { hostNetwork: "yes" } },
      `${into} string ${field} PodSpec.spec.hostNetwork of type bool`,
    ],
    [
      "Pod",
      { metadata: { labels: { a: 1 } } },
      `${into} number ${field} ObjectMeta.metadata.labels of type string`,
    ],
    [
      "Pod",
      { metadata: { labels: [] } },
      `${into} array ${field} ObjectMeta.metadata.labels of type map[string]string`,
    ],
    ["Pod", { metadata: { uid: 1 } }, `${into} number ${field} ObjectMeta.metadata.uid of type types.UID`],
    [
      "Pod",
      { metadata: { creationTimestamp: 1 } },
      `${into} number ${field} ObjectMeta.metadata.creationTimestamp of type string`,
    ],
    ["Pod", { kind: 1 }, `${into} number ${field} Pod.TypeMeta.kind of type string`],
    [
      "Pod",
      { spec: { volumes: [{ hostPath: "x" }] } },
      `${into} string ${field} Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource`,
    ],
    [
      "Pod",
      podWith({ resources: { limits: "1" } }),
      `${into} string ${field} ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList`,
    ],
    [
      "Pod",
      podWith({ livenessProbe: { tcpSocket: { port: true } } }),
      `${into} bool ${field} TCPSocketAction.spec.containers.livenessProbe.ProbeHandler.tcpSocket.port of type int32`,
    ],
    ["Secret", { data: { a: 1 } }, `${into} number ${field} Secret.data of type []uint8`],
  ];
  for (const [kind, value, expected] of rows)
    test(expected, () => assert.equal(checkFields("", "v1", kind, value).problems[0]?.message, expected));

  test("the object itself", () =>
    assert.deepEqual(checkFields("", "v1", "Pod", "x").problems, [
      { path: "", message: "json: cannot unmarshal string into Go value of type v1.Pod" },
    ]));
});

describe("text that does not decode", () => {
  const rows: [string, object, string, string][] = [
    ["Secret", { data: { a: "x" } }, "data.a", "illegal base64 data at input byte 0"],
    [
      "Pod",
      podWith({ resources: { requests: { cpu: "1 core" } } }),
      "spec.containers[0].resources.requests.cpu",
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      "Pod",
      { metadata: { creationTimestamp: "now" } },
      "metadata.creationTimestamp",
      'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
    ],
  ];
  for (const [kind, value, path, message] of rows)
    test(`${path}: ${message}`, () =>
      assert.deepEqual(checkFields("", "v1", kind, value).problems, [{ path, message }]));

  test("comes before an earlier type mismatch, because decoding stops there", () => {
    const value = { metadata: { name: 1, creationTimestamp: "x" }, spec: { hostPID: 1 } };
    assert.deepEqual(
      checkFields("", "v1", "Pod", value).problems.map(({ path }) => path),
      ["metadata.creationTimestamp", "metadata.name"],
    );
  });
});

test("null, numbers as quantities, and names or numbers as ports are valid", () => {
  const value = podWith({
    name: "c",
    command: null,
    resources: { limits: { cpu: 2, memory: "1Gi" } },
    readinessProbe: { httpGet: { port: 80 }, tcpSocket: { port: "http" } },
  });
  assert.deepEqual(checkFields("", "v1", "Pod", value), { unknown: [], problems: [] });
});
