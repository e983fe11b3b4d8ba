import assert from "node:assert/strict";
import { test } from "node:test";
import { validatePod } from "./fixtures.ts";

type Loose = Record<string, unknown>;

function pod(change: { metadata?: Loose; spec?: Loose; container?: Loose } = {}): Loose {
  const container = { name: "c", image: "i:1", ...change.container };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", ...change.metadata },
    spec: { containers: [container], ...change.spec },
  };
}

function problemsOf(input: unknown): string[] {
  const result = validatePod(input);
  return "problems" in result ? result.problems.map(({ path, message }) => `${path}: ${message}`) : [];
}

/** Each row: the rule, the pod, and the prefixes of all its problems. */
type Row = [rule: string, input: unknown, ...problems: string[]];

function table(name: string, rows: Row[]): void {
  // parity: gate RelaxedDNSSearchValidation=true as searches, gate RelaxedEnvironmentVariableValidation=true as env
  test(name, async (t) => {
    for (const [rule, input, ...expected] of rows) {
      await t.test(rule, () => {
        const found = problemsOf(input);
        assert.equal(found.length, expected.length, `found: ${found.join(" | ") || "nothing"}`);
        for (const [i, beginning] of expected.entries())
          assert.ok(found[i]?.startsWith(beginning), `${found[i]} should begin with ${beginning}`);
      });
    }
  });
}

const other = { name: "d", image: "i:1" };
const exec = { exec: { command: ["x"] } };

table("structure", [
  ["a plain pod is valid", pod()],
  ["not an object", "text", ": expected a Pod"],
  ["a list", [], ": expected a Pod"],
  ["nothing", null, ": expected a Pod"],
  ["kind is needed", { apiVersion: "v1" }, "kind: Required value"],
  ["another kind", { ...pod(), kind: "Deployment" }, 'kind: expected "Pod", got "Deployment"'],
  [
    "a list of pods",
    { ...pod(), kind: "PodList" },
    'kind: expected "Pod", got "PodList": a list is not a Pod',
  ],
  ["apiVersion is needed", { kind: "Pod" }, "apiVersion: Required value"],
  ["another version", { ...pod(), apiVersion: "v2" }, 'apiVersion: expected "v1", got "v2"'],
  [
    "a number is not a string",
    pod({ container: { image: 5 } }),
    "spec.containers[0].image: expected a string, got 5 (quote it)",
  ],
  [
    "a bool is not a label",
    pod({ metadata: { labels: { a: true } } }),
    "metadata.labels[a]: expected a string, got true",
  ],
  [
    "a string is not a bool",
    pod({ spec: { hostNetwork: "yes" } }),
    'spec.hostNetwork: expected true or false, got "yes"',
  ],
  [
    "a string is not a number",
    pod({ spec: { priority: "1" } }),
    'spec.priority: expected an integer, got "1"',
  ],
  [
    "a fraction is not an integer",
    pod({ spec: { priority: 1.5 } }),
    "spec.priority: expected an integer, got 1.5",
  ],
  [
    "NaN is not an integer",
    pod({ spec: { priority: Number.NaN } }),
    "spec.priority: expected an integer, got NaN",
  ],
  ["32 bits", pod({ spec: { priority: 2 ** 31 } }), "spec.priority: expected an integer of 32 bits"],
  ["64 bits", pod({ spec: { terminationGracePeriodSeconds: 2 ** 40 } })],
  [
    "an object is not a list",
    pod({ container: { ports: {} } }),
    "spec.containers[0].ports: expected a list, got an object",
  ],
  [
    "a list is not an object",
    pod({ container: { resources: [] } }),
    "spec.containers[0].resources: expected an object, got a list",
  ],
  [
    "not a quantity",
    pod({ container: { resources: { limits: { cpu: "1QQ" } } } }),
    "spec.containers[0].resources.limits[cpu]: expected a quantity",
  ],
  [
    "a quantity with more digits than supported",
    pod({ container: { resources: { limits: { cpu: "12345678901234567890e999999999" } } } }),
    "spec.containers[0].resources.limits[cpu]: expected a quantity",
  ],
  [
    "a resource with the name of an inherited property",
    pod({ container: { resources: { requests: { constructor: "1" }, limits: { cpu: "1" } } } }),
    'spec.containers[0].resources.requests[constructor]: Invalid value: "constructor"',
  ],
  ["null is absent", pod({ spec: { volumes: null, dnsPolicy: null } })],
  [
    "a spec is needed",
    { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } },
    "spec.containers: Required value",
  ],
  ["unknown fields are ignored", pod({ container: { imge: "x" } })],
  [
    "__proto__ is an unknown field",
    JSON.parse(
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"__proto__":{"hostPID":true},"containers":[{"name":"c","image":"i"}]}}',
    ),
  ],
]);

test("status and managed fields are ignored", () => {
  const result = validatePod({ ...pod({ metadata: { managedFields: 1 } }), status: "running" });
  assert.ok("pod" in result, JSON.stringify(result));
  assert.deepEqual(result.unknownFields, []);
  assert.equal("status" in result.pod || "managedFields" in result.pod.metadata, false);
});

test("a volumeClaimTemplate has object metadata", () => {
  const template = (metadata: object) => ({
    volumes: [{ name: "v", ephemeral: { volumeClaimTemplate: { metadata, spec: {} } } }],
  });
  const result = validatePod(pod({ spec: template({ finalizers: ["example.com/f"], foo: 1 }) }));
  assert.ok("pod" in result, JSON.stringify(result));
  assert.deepEqual(result.unknownFields, ["spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.foo"]);
});

test("unknown fields are listed and omitted", () => {
  const result = validatePod(pod({ container: { imge: "x" }, spec: { foo: { bar: 1 } } }));
  assert.ok("pod" in result);
  assert.deepEqual(result.unknownFields, ["spec.containers[0].imge", "spec.foo"]);
  assert.ok(!("foo" in result.pod.spec));
});

table("metadata", [
  ["a name is needed", pod({ metadata: { name: "" } }), "metadata.name: Required value"],
  [
    "names are DNS subdomains",
    pod({ metadata: { name: "Web_1" } }),
    'metadata.name: Invalid value: "Web_1": a lowercase RFC 1123 subdomain',
  ],
  ["a name with dots", pod({ metadata: { name: "a.b-c" } })],
  ["a UID of its own", pod({ metadata: { uid: "0d5b8b4a-95d7-4f3c-9b70-a1a1c0ffee00" } })],
  ["a short UID", pod({ metadata: { uid: "u1" } })],
  ["a UID with path elements", pod({ metadata: { uid: "../../x" } }), "metadata.uid: Invalid value"],
  ["a UID that is not a directory name", pod({ metadata: { uid: ".." } }), "metadata.uid: Invalid value"],
  [
    "a UID with the name of an inherited property",
    pod({ metadata: { uid: "__proto__" } }),
    "metadata.uid: Invalid value",
  ],
  ["a name that is too long", pod({ metadata: { name: "a".repeat(254) } }), "metadata.name: Invalid value"],
  ["namespaces are DNS labels", pod({ metadata: { namespace: "a.b" } }), "metadata.namespace: Invalid value"],
  ["label keys", pod({ metadata: { labels: { "a b": "x" } } }), "metadata.labels[a b]: Invalid value"],
  ["label keys with a prefix", pod({ metadata: { labels: { "example.com/a_b": "x.y" } } })],
  ["label values", pod({ metadata: { labels: { a: "x y" } } }), 'metadata.labels[a]: Invalid value: "x y"'],
  ["annotation keys ignore case", pod({ metadata: { annotations: { "Example.com/A": "any value" } } })],
  [
    "annotation keys",
    pod({ metadata: { annotations: { "a/b/c": "" } } }),
    "metadata.annotations[a/b/c]: Invalid value",
  ],
  [
    "annotations have a size",
    pod({ metadata: { annotations: { a: "x".repeat(262144) } } }),
    "metadata.annotations: Too long",
  ],
]);

table("containers", [
  ["at least one", pod({ spec: { containers: [] } }), "spec.containers: Required value"],
  ["a name", pod({ container: { name: "" } }), "spec.containers[0].name: Required value"],
  [
    "a name that is a DNS label",
    pod({ container: { name: "a.b" } }),
    "spec.containers[0].name: Invalid value",
  ],
  ["an image", pod({ container: { image: "" } }), "spec.containers[0].image: Required value"],
  [
    "no space around the image",
    pod({ container: { image: " i" } }),
    "spec.containers[0].image: Invalid value",
  ],
  [
    "unique names",
    pod({ spec: { containers: [other, other] } }),
    'spec.containers[1].name: Duplicate value: "d"',
  ],
  [
    "unique names with init containers",
    pod({ spec: { initContainers: [{ ...other, name: "c" }] } }),
    "spec.initContainers[0].name: Duplicate value",
  ],
  [
    "pull policies",
    pod({ container: { imagePullPolicy: "Sometimes" } }),
    'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
  ],
  [
    "termination message policies",
    pod({ container: { terminationMessagePolicy: "x" } }),
    "spec.containers[0].terminationMessagePolicy: Unsupported",
  ],
  [
    "a container port",
    pod({ container: { ports: [{}] } }),
    "spec.containers[0].ports[0].containerPort: Required value",
  ],
  [
    "port range",
    pod({ container: { ports: [{ containerPort: 65536 }] } }),
    "spec.containers[0].ports[0].containerPort: Invalid value: 65536",
  ],
  [
    "port names",
    pod({ container: { ports: [{ containerPort: 1, name: "A_b" }] } }),
    "spec.containers[0].ports[0].name: Invalid value",
  ],
  [
    "unique port names",
    pod({
      container: {
        ports: [
          { containerPort: 1, name: "a" },
          { containerPort: 2, name: "a" },
        ],
      },
    }),
    "spec.containers[0].ports[1].name: Duplicate value",
  ],
  [
    "protocols",
    pod({ container: { ports: [{ containerPort: 1, protocol: "tcp" }] } }),
    "spec.containers[0].ports[0].protocol: Unsupported",
  ],
  [
    "the same container port twice",
    pod({ container: { ports: [{ containerPort: 1 }, { containerPort: 1 }] } }),
  ],
  [
    "host ports are not shared",
    pod({
      container: {
        ports: [
          { containerPort: 1, hostPort: 9 },
          { containerPort: 2, hostPort: 9 },
        ],
      },
    }),
    'spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//9"',
  ],
  [
    "host ports of two protocols",
    pod({
      container: {
        ports: [
          { containerPort: 1, hostPort: 9 },
          { containerPort: 1, hostPort: 9, protocol: "UDP" },
        ],
      },
    }),
  ],
  [
    "with hostNetwork, hostPort equals containerPort",
    pod({
      spec: { hostNetwork: true, containers: [{ ...other, ports: [{ containerPort: 1, hostPort: 2 }] }] },
    }),
    "spec.containers[0].ports[0].hostPort: Invalid value: 2: must match",
  ],
  [
    "no probes on init containers",
    pod({ spec: { initContainers: [{ ...other, livenessProbe: exec }] } }),
    "spec.initContainers[0].livenessProbe: Forbidden",
  ],
  [
    "probes on sidecars",
    pod({ spec: { initContainers: [{ ...other, restartPolicy: "Always", livenessProbe: exec }] } }),
  ],
  [
    "restart policies of containers",
    pod({ container: { restartPolicy: "x" } }),
    "spec.containers[0].restartPolicy: Unsupported",
  ],
  [
    "restart rules need a policy",
    pod({
      container: { restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [1] } }] },
    }),
    "spec.containers[0].restartPolicy: Required value",
  ],
  [
    "resize policies",
    pod({ container: { resizePolicy: [{ resourceName: "disk", restartPolicy: "NotRequired" }] } }),
    "spec.containers[0].resizePolicy[0].resourceName: Unsupported",
  ],
  [
    "a new pod has no ephemeral containers",
    pod({ spec: { ephemeralContainers: [other] } }),
    "spec.ephemeralContainers: Forbidden",
  ],
]);

table("environment", [
  ["a name", pod({ container: { env: [{ value: "x" }] } }), "spec.containers[0].env[0].name: Required value"],
  ["printable names", pod({ container: { env: [{ name: "a.b c" }] } })],
  [
    "no = in names",
    pod({ container: { env: [{ name: "a=b" }] } }),
    "spec.containers[0].env[0].name: Invalid value",
  ],
  [
    "one source",
    pod({ container: { env: [{ name: "a", valueFrom: {} }] } }),
    'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of',
  ],
  [
    "value or source",
    pod({
      container: {
        env: [{ name: "a", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
      },
    }),
    "spec.containers[0].env[0].valueFrom: Invalid value",
  ],
  [
    "known fields",
    pod({ container: { env: [{ name: "a", valueFrom: { fieldRef: { fieldPath: "status.phase" } } }] } }),
    "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported",
  ],
  [
    "one label",
    pod({
      container: { env: [{ name: "a", valueFrom: { fieldRef: { fieldPath: "metadata.labels['x/y']" } } }] },
    }),
  ],
  [
    "known resources",
    pod({ container: { env: [{ name: "a", valueFrom: { resourceFieldRef: { resource: "limits.gpu" } } }] } }),
    "spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported",
  ],
  [
    "divisors",
    pod({
      container: {
        env: [{ name: "a", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1Mi" } } }],
      },
    }),
    "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Unsupported",
  ],
  [
    "a key",
    pod({ container: { env: [{ name: "a", valueFrom: { secretKeyRef: { name: "s" } } }] } }),
    "spec.containers[0].env[0].valueFrom.secretKeyRef.key: Required value",
  ],
  [
    "envFrom has a source",
    pod({ container: { envFrom: [{ prefix: "x" }] } }),
    "spec.containers[0].envFrom[0]: Invalid value",
  ],
]);

table("probes and hooks", [
  [
    "one handler",
    pod({ container: { livenessProbe: { periodSeconds: 1 } } }),
    "spec.containers[0].livenessProbe: Required value: must specify a handler type",
  ],
  [
    "only one handler",
    pod({ container: { livenessProbe: { ...exec, tcpSocket: { port: 1 } } } }),
    "spec.containers[0].livenessProbe.tcpSocket: Forbidden",
  ],
  [
    "a command",
    pod({ container: { livenessProbe: { exec: {} } } }),
    "spec.containers[0].livenessProbe.exec.command: Required value",
  ],
  [
    "a port number",
    pod({ container: { readinessProbe: { httpGet: { port: 0 } } } }),
    "spec.containers[0].readinessProbe.httpGet.port: Invalid value: 0",
  ],
  ["a port name", pod({ container: { readinessProbe: { httpGet: { port: "http" } } } })],
  [
    "a scheme",
    pod({ container: { readinessProbe: { httpGet: { port: 1, scheme: "ftp" } } } }),
    "spec.containers[0].readinessProbe.httpGet.scheme: Unsupported",
  ],
  [
    "not negative",
    pod({ container: { readinessProbe: { ...exec, initialDelaySeconds: -1 } } }),
    "spec.containers[0].readinessProbe.initialDelaySeconds: Invalid value: -1",
  ],
  [
    "a liveness probe has a success threshold of 1",
    pod({ container: { livenessProbe: { ...exec, successThreshold: 2 } } }),
    "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
  ],
  [
    "a readiness probe may need several successes",
    pod({ container: { readinessProbe: { ...exec, successThreshold: 2 } } }),
  ],
  [
    "a readiness probe has no grace period",
    pod({ container: { readinessProbe: { ...exec, terminationGracePeriodSeconds: 2 } } }),
    "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid",
  ],
  [
    "a hook",
    pod({ container: { lifecycle: { preStop: {} } } }),
    "spec.containers[0].lifecycle.preStop: Required value",
  ],
  ["a sleep of 0 seconds", pod({ container: { lifecycle: { preStop: { sleep: { seconds: 0 } } } } })],
  [
    "sleep within the grace period",
    pod({ container: { lifecycle: { preStop: { sleep: { seconds: 31 } } } } }),
    "spec.containers[0].lifecycle.preStop.sleep.seconds: Invalid value: 31",
  ],
  [
    "stop signals need an OS",
    pod({ container: { lifecycle: { stopSignal: "SIGTERM" } } }),
    "spec.containers[0].lifecycle.stopSignal: Forbidden",
  ],
  [
    "stop signals",
    pod({ spec: { os: { name: "linux" } }, container: { lifecycle: { stopSignal: "SIGRTMIN+3" } } }),
  ],
  [
    "unknown stop signals",
    pod({ spec: { os: { name: "linux" } }, container: { lifecycle: { stopSignal: "TERM" } } }),
    "spec.containers[0].lifecycle.stopSignal: Unsupported",
  ],
]);

const mount = (m: Loose, volume: Loose = {}) =>
  pod({
    spec: { volumes: [{ name: "v", ...volume }] },
    container: { volumeMounts: [{ name: "v", mountPath: "/v", ...m }] },
  });

const certificateVolume = (source: Loose) => {
  const podCertificate = { signerName: "example.com/a", keyType: "ED25519", keyPath: "key", ...source };
  return mount({}, { projected: { sources: [{ podCertificate }] } });
};

table("volumes and mounts", [
  ["a mount", mount({})],
  ["mounts name volumes", mount({ name: "w" }), 'spec.containers[0].volumeMounts[0].name: Not found: "w"'],
  ["a path", mount({ mountPath: "" }), "spec.containers[0].volumeMounts[0].mountPath: Required value"],
  [
    "unique paths",
    pod({
      spec: { volumes: [{ name: "v" }] },
      container: {
        volumeMounts: [
          { name: "v", mountPath: "/v" },
          { name: "v", mountPath: "/v" },
        ],
      },
    }),
    "spec.containers[0].volumeMounts[1].mountPath: Invalid value",
  ],
  [
    "subPath remains inside",
    mount({ subPath: "a/../../b" }),
    "spec.containers[0].volumeMounts[0].subPath: Invalid value",
  ],
  [
    "subPath is relative",
    mount({ subPath: "/a" }),
    "spec.containers[0].volumeMounts[0].subPath: Invalid value",
  ],
  [
    "Bidirectional is for privileged containers",
    mount({ mountPropagation: "Bidirectional" }),
    "spec.containers[0].volumeMounts[0].mountPropagation: Forbidden",
  ],
  [
    "recursive read-only is read-only",
    mount({ recursiveReadOnly: "Enabled" }),
    "spec.containers[0].volumeMounts[0].recursiveReadOnly: Forbidden",
  ],
  ["volume names", pod({ spec: { volumes: [{ name: "V" }] } }), "spec.volumes[0].name: Invalid value"],
  [
    "unique volume names",
    pod({ spec: { volumes: [{ name: "v" }, { name: "v" }] } }),
    "spec.volumes[1].name: Duplicate value",
  ],
  [
    "one source",
    mount({}, { emptyDir: {}, hostPath: { path: "/x" } }),
    "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
  ],
  ["hostPath has a path", mount({}, { hostPath: {} }), "spec.volumes[0].hostPath.path: Required value"],
  [
    "hostPath does not go up",
    mount({}, { hostPath: { path: "/a/../b" } }),
    "spec.volumes[0].hostPath.path: Invalid value",
  ],
  [
    "hostPath types",
    mount({}, { hostPath: { path: "/a", type: "Dir" } }),
    "spec.volumes[0].hostPath.type: Unsupported",
  ],
  [
    "modes",
    mount({}, { secret: { secretName: "s", defaultMode: 0o1000 } }),
    "spec.volumes[0].secret.defaultMode: Invalid value: 512",
  ],
  [
    "file names in volumes",
    mount({}, { configMap: { name: "c", items: [{ key: "k", path: "../x" }] } }),
    "spec.volumes[0].configMap.items[0].path: Invalid value",
  ],
  [
    "a negative size",
    mount({}, { emptyDir: { sizeLimit: "-1" } }),
    "spec.volumes[0].emptyDir.sizeLimit: Forbidden",
  ],
  [
    "downward items have a field",
    mount({}, { downwardAPI: { items: [{ path: "x" }] } }),
    "spec.volumes[0].downwardAPI.items[0]: Required value",
  ],
  ["a pod certificate has one file", certificateVolume({})],
  [
    "a pod certificate has a signer",
    certificateVolume({ signerName: "" }),
    "spec.volumes[0].projected.sources[0].podCertificate.signerName: Required value",
  ],
  [
    "a pod certificate has a known kind of key",
    certificateVolume({ keyType: "DSA" }),
    'spec.volumes[0].projected.sources[0].podCertificate.keyType: Unsupported value: "DSA": supported values: "ECDSAP256", ',
  ],
  [
    "a pod certificate is valid for at least an hour",
    certificateVolume({ maxExpirationSeconds: 3599 }),
    "spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 3599: if provided, maxExpirationSeconds must be >= 3600",
  ],
  [
    "a pod certificate is valid for at most 91 days",
    certificateVolume({ maxExpirationSeconds: 91 * 86_400 + 1 }),
    "spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 7862401: if provided, maxExpirationSeconds must be <= 7862400",
  ],
  [
    "a pod certificate of Kubernetes is valid for at most a day",
    certificateVolume({ signerName: "kubernetes.io/x", maxExpirationSeconds: 86_401 }),
    "spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 86401: if provided, maxExpirationSeconds must be <= 86400",
  ],
  [
    "a pod certificate without a file",
    certificateVolume({ keyPath: "" }),
    "spec.volumes[0].projected.sources[0].podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
  ],
  [
    "the files of a pod certificate remain in the volume",
    certificateVolume({ keyPath: "../key" }),
    "spec.volumes[0].projected.sources[0].podCertificate.keyPath: Invalid value",
  ],
  [
    "the files of a pod certificate have different paths",
    certificateVolume({ keyPath: "x", certificateChainPath: "x" }),
    'spec.volumes[0].projected.sources: Invalid value: "x": conflicting duplicate paths',
  ],
  [
    "required fields of other sources",
    mount({}, { nfs: { server: "s" } }),
    "spec.volumes[0].nfs.path: Required value",
  ],
  [
    "an NFS path is absolute",
    mount({}, { nfs: { server: "s", path: "p" } }),
    'spec.volumes[0].nfs.path: Invalid value: "p": must be an absolute path',
  ],
  ...(
    [
      [
        "the name of an iSCSI target begins with iqn, eui or naa",
        { iqn: "x" },
        'iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
      ],
      [
        "the name of an iSCSI target has a date",
        { iqn: "iqn.x:y" },
        'iscsi.iqn: Invalid value: "iqn.x:y": must be valid format',
      ],
      [
        "an eui name has 16 characters",
        { iqn: "eui.1" },
        'iscsi.iqn: Invalid value: "eui.1": must be valid format',
      ],
      [
        "an naa name has 32 characters",
        { iqn: "naa.1" },
        'iscsi.iqn: Invalid value: "naa.1": must be valid format',
      ],
      [
        "a LUN is at least 0",
        { lun: -1 },
        "iscsi.lun: Invalid value: -1: must be between 0 and 255, inclusive",
      ],
      [
        "a LUN is at most 255",
        { lun: 256 },
        "iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
      ],
      ["CHAP needs a secret", { chapAuthSession: true }, "iscsi.secretRef: Required value"],
      [
        "an initiator has a valid name",
        { initiatorName: "-x" },
        'iscsi.initiatorname: Invalid value: "-x": must be valid format starting with iqn, eui, or naa',
      ],
      [
        "the name of the interface of an initiator is short",
        { initiatorName: "eui.0123456789abcdef", targetPortal: "x".repeat(64) },
        'name: Invalid value: "v": Total length of <volume name>',
      ],
    ] as [string, object, string][]
  ).map(([what, more, message]): [string, Loose, string] => [
    what,
    mount({}, { iscsi: { targetPortal: "192.0.2.1", iqn: "iqn.2001-04.com.example:disk", lun: 0, ...more } }),
    `spec.volumes[0].${message}`,
  ]),
  [
    "block devices need a PVC",
    pod({
      spec: { volumes: [{ name: "v" }] },
      container: { volumeDevices: [{ name: "v", devicePath: "/dev/x" }] },
    }),
    "spec.containers[0].volumeDevices[0].name: Invalid value",
  ],
]);

const resources = (r: Loose) => pod({ container: { resources: r } });

table("resources", [
  [
    "requests within limits",
    resources({ limits: { cpu: "1" }, requests: { cpu: "2" } }),
    'spec.containers[0].resources.requests[cpu]: Invalid value: "2": must be less than or equal to cpu limit of 1',
  ],
  [
    "not negative",
    resources({ requests: { cpu: "-1" } }),
    "spec.containers[0].resources.requests[cpu]: Invalid value",
  ],
  [
    "standard names",
    resources({ limits: { gpu: "1" } }),
    "spec.containers[0].resources.limits[gpu]: Invalid value",
    "spec.containers[0].resources.requests[gpu]: Invalid value",
  ],
  ["extended resources", resources({ limits: { "example.com/gpu": "1" } })],
  [
    "extended resources are whole",
    resources({ limits: { "example.com/gpu": "500m" } }),
    "spec.containers[0].resources.limits[example.com/gpu]: Invalid value",
    "spec.containers[0].resources.requests[example.com/gpu]: Invalid value",
  ],
  [
    "extended resources have a limit",
    resources({ requests: { "example.com/gpu": "1" } }),
    "spec.containers[0].resources.limits: Required value",
  ],
  [
    "huge pages require cpu or memory",
    resources({ limits: { "hugepages-2Mi": "4Mi" } }),
    "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
  ],
  [
    "huge pages are whole",
    resources({ limits: { memory: "1Gi", "hugepages-2Mi": "3Mi" } }),
    "spec.containers[0].resources.limits[hugepages-2Mi]: Invalid",
    "spec.containers[0].resources.requests[hugepages-2Mi]: Invalid",
  ],
  [
    "pod-level requests cover those of the containers",
    pod({
      spec: { resources: { requests: { cpu: "1" } } },
      container: { resources: { requests: { cpu: "2" } } },
    }),
    'spec.resources.requests[cpu]: Invalid value: "1"',
  ],
  [
    "ephemeral-storage has no pod-level request",
    pod({ spec: { resources: { requests: { "ephemeral-storage": "1" } } } }),
    "spec.resources.requests[ephemeral-storage]: Invalid value",
  ],
]);

table("spec", [
  [
    "restart policies",
    pod({ spec: { restartPolicy: "Sometimes" } }),
    "spec.restartPolicy: Unsupported value",
  ],
  ["DNS policies", pod({ spec: { dnsPolicy: "x" } }), "spec.dnsPolicy: Unsupported value"],
  ["DNS policy None has a config", pod({ spec: { dnsPolicy: "None" } }), "spec.dnsConfig: Required value"],
  [
    "DNS policy None needs a nameserver",
    pod({ spec: { dnsPolicy: "None", dnsConfig: {} } }),
    "spec.dnsConfig.nameservers: Required value",
  ],
  [
    "nameservers are IP addresses",
    pod({ spec: { dnsConfig: { nameservers: ["a"] } } }),
    "spec.dnsConfig.nameservers[0]: Invalid value",
  ],
  [
    "at most three nameservers",
    pod({ spec: { dnsConfig: { nameservers: ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"] } } }),
    "spec.dnsConfig.nameservers: Invalid value",
  ],
  [
    "searches",
    pod({ spec: { dnsConfig: { searches: [".", "_a.b.", "A"] } } }),
    "spec.dnsConfig.searches[2]: Invalid value",
  ],
  ["a deadline", pod({ spec: { activeDeadlineSeconds: 0 } }), "spec.activeDeadlineSeconds: Invalid value: 0"],
  ["host names", pod({ spec: { hostname: "a.b" } }), "spec.hostname: Invalid value"],
  [
    "host aliases",
    pod({ spec: { hostAliases: [{ ip: "x", hostnames: ["a b"] }] } }),
    "spec.hostAliases[0].ip: Invalid value",
    "spec.hostAliases[0].hostnames[0]: Invalid value",
  ],
  ["IPv6 aliases", pod({ spec: { hostAliases: [{ ip: "fd00::1", hostnames: ["a"] }] } })],
  [
    "octal addresses",
    pod({ spec: { hostAliases: [{ ip: "010.0.0.1" }] } }),
    "spec.hostAliases[0].ip: Invalid value",
  ],
  ["node selectors", pod({ spec: { nodeSelector: { a: "b c" } } }), "spec.nodeSelector[a]: Invalid value"],
  [
    "a toleration has a key",
    pod({ spec: { tolerations: [{ operator: "Equal" }] } }),
    "spec.tolerations[0].operator: Invalid value",
  ],
  [
    "a toleration without a key tolerates everything",
    pod({ spec: { tolerations: [{ operator: "Exists" }] } }),
  ],
  [
    "tolerationSeconds are for NoExecute",
    pod({ spec: { tolerations: [{ key: "a", operator: "Exists", tolerationSeconds: 1 }] } }),
    "spec.tolerations[0].effect: Invalid value",
  ],
  [
    "effects",
    pod({ spec: { tolerations: [{ key: "a", effect: "x" }] } }),
    "spec.tolerations[0].effect: Unsupported value",
  ],
  [
    "numbers of taints are not compared by default",
    pod({ spec: { tolerations: [{ key: "a", operator: "Lt", value: "1" }] } }),
    'spec.tolerations[0].operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"',
  ],
  [
    "hostnameOverride",
    pod({ spec: { hostnameOverride: "a", hostNetwork: true } }),
    "spec.hostnameOverride: Forbidden",
  ],
  ["operating systems", pod({ spec: { os: { name: "plan9" } } }), "spec.os.name: Unsupported"],
  [
    "a pod on a node has no scheduling gates",
    pod({ spec: { schedulingGates: [{ name: "a" }] } }),
    "spec.schedulingGates: Forbidden",
  ],
]);

table("security", [
  [
    "user ids",
    pod({ spec: { securityContext: { runAsUser: -1 } } }),
    "spec.securityContext.runAsUser: Invalid value: -1",
  ],
  [
    "groups",
    pod({ spec: { securityContext: { supplementalGroups: [1, 2 ** 31] } } }),
    "spec.securityContext.supplementalGroups[1]: Invalid value",
  ],
  [
    "user ids of containers",
    pod({ container: { securityContext: { runAsGroup: -1 } } }),
    "spec.containers[0].securityContext.runAsGroup: Invalid value",
  ],
  [
    "sysctl names",
    pod({ spec: { securityContext: { sysctls: [{ name: "a..b" }] } } }),
    "spec.securityContext.sysctls[0].name: Invalid value",
  ],
  [
    "unique sysctls",
    pod({ spec: { securityContext: { sysctls: [{ name: "a.b" }, { name: "a.b" }] } } }),
    "spec.securityContext.sysctls[1].name: Duplicate value",
  ],
  [
    "no net sysctls on the host's network",
    pod({ spec: { hostNetwork: true, securityContext: { sysctls: [{ name: "net.core.somaxconn" }] } } }),
    "spec.securityContext.sysctls[0].name: Invalid value",
  ],
  [
    "no shared process namespace with hostPID",
    pod({ spec: { hostPID: true, shareProcessNamespace: true } }),
    "spec.shareProcessNamespace: Invalid value",
  ],
  [
    "seccomp has a type",
    pod({ spec: { securityContext: { seccompProfile: {} } } }),
    "spec.securityContext.seccompProfile.type: Required value",
  ],
  [
    "Localhost has a profile",
    pod({ container: { securityContext: { seccompProfile: { type: "Localhost" } } } }),
    "spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value",
  ],
  [
    "only Localhost has a profile",
    pod({
      container: { securityContext: { appArmorProfile: { type: "Unconfined", localhostProfile: "x" } } },
    }),
    "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid",
  ],
  [
    "a privileged container may escalate its privileges",
    pod({ container: { securityContext: { privileged: true, allowPrivilegeEscalation: false } } }),
    "spec.containers[0].securityContext: Invalid value",
  ],
  [
    "unmasked /proc needs a user namespace",
    pod({ container: { securityContext: { procMount: "Unmasked" } } }),
    "spec.containers[0].securityContext.procMount: Invalid value",
  ],
  [
    "no user namespace with a host namespace",
    pod({ spec: { hostUsers: false, hostPID: true } }),
    "spec.hostPID: Forbidden",
  ],
  [
    "a privileged pod in all host namespaces",
    pod({
      spec: { hostNetwork: true, hostPID: true, hostIPC: true },
      container: { securityContext: { privileged: true } },
    }),
  ],
]);
