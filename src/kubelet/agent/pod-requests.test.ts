import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  testUid,
} from "../../../test/builders/pods.ts";
import { abortError, KubeletError } from "../../lib/base/errors.ts";
import { monotonicTime } from "../../lib/base/fake-clock.ts";
import { NamespaceMode } from "../../lib/gen/runtime/v1/api_pb.js";
import { hasExplicitDnsPolicy } from "../../lib/model/explicit-dns-policy.ts";
import type { Container, EnvVar, Pod } from "../../lib/model/pod.ts";
import { makeStaticPod } from "../../lib/model/static-pod.ts";
import { fakeNode, fakeSettings } from "../pipeline/pod-runtime/config/fake-context.ts";
import { RuntimeHandlers } from "../pipeline/pod-runtime/runtime-handlers.ts";
import { type PodRequestsOptions, podRequests } from "./pod-requests.ts";

async function setUp(
  t: TestContext,
  resolvConf = "nameserver 192.0.2.53\nsearch example.test\n",
  more: Partial<PodRequestsOptions> = {},
) {
  const dir = await mkdtemp(join(tmpdir(), "cri-requests-"));
  t.after(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, "resolv.conf"), resolvConf);
  const events: string[] = [];
  const requests = podRequests({
    node: fakeNode,
    settings: { ...fakeSettings, rootDir: dir },
    clusterDns: ["10.96.0.10"],
    clusterDomain: "cluster.local",
    resolvConf: join(dir, "resolv.conf"),
    cgroupParentOf: (pod) => `/kubepods/pod${pod.metadata.uid}`,
    events: { normal() {}, warning: (_pod, reason) => void events.push(reason) },
    volumeDir: (_pod, volume) => (volume === "v" ? join(dir, "v") : undefined),
    ...more,
  });
  return { dir, requests, events };
}
const never = new AbortController().signal;
const image = { ref: "sha256:1", user: { uid: 0n } };

// parity: field resolvConf, field clusterDomain, field clusterDNS as clusterDns
test("a sandbox gets the DNS configuration of its policy, and the pod's cgroup", async (t) => {
  const { requests } = await setUp(t);
  const own = await requests.sandbox(aPod({ dnsPolicy: "Default" }), 3);
  assert.deepEqual(own.dnsConfig?.servers, ["192.0.2.53"]);
  assert.equal(own.metadata?.attempt, 3);
  assert.equal(own.linux?.cgroupParent, `/kubepods/pod${testUid}`);
  const cluster = await requests.sandbox(aPod({ dnsPolicy: "ClusterFirst" }), 0);
  assert.deepEqual(cluster.dnsConfig?.servers, ["10.96.0.10"]);
  assert.ok(cluster.dnsConfig?.searches?.includes("default.svc.cluster.local"));
});

test("a variable from a Secret has the bytes of the Secret, also where they are not UTF-8", async (t) => {
  const key = Buffer.from([0x61, 0xff, 0x00, 0xe2, 0x82, 0xac]);
  const objects = {
    find: async (kind: string) => (kind === "Secret" ? { data: { key: key.toString("base64") } } : undefined),
  };
  const { requests } = await setUp(t, undefined, { objects });
  const spec = aContainer("a", {
    env: [
      { name: "OWN", valueFrom: { secretKeyRef: { name: "keys", key: "key" } } },
      { name: "EXPANDED", value: "<$(OWN)>" },
    ],
    envFrom: [{ prefix: "ALL_", secretRef: { name: "keys" } }],
  });
  const input = { attempt: 0, image, podIPs: [], signal: never };
  const { envs = [] } = await requests.container(aPod({ containers: [spec] }), spec, input);
  assert.deepEqual(
    envs.map(({ key: name, value }) => [name, Buffer.from(value ?? []).toString("latin1")]),
    [
      ["ALL_key", key.toString("latin1")],
      ["OWN", key.toString("latin1")],
      ["EXPANDED", `<${key.toString("latin1")}>`],
    ],
  );
});

test("a container gets what device plugins respond, before its own volumes and environment", async (t) => {
  const volumes = {
    mountsFor: async () => [{ containerPath: "/data", hostPath: "/volumes/data" }],
    devicesFor: async () => [{ containerPath: "/dev/block", hostPath: "/dev/loop0", permissions: "rw" }],
  };
  const devicesFor = async () => ({
    env: new Map([
      ["IDS", "a"],
      ["MODE", "plugin"],
    ]),
    mounts: [{ containerPath: "/plugin", hostPath: "/opt", readonly: true }],
    devices: [{ containerPath: "/dev/gpu", hostPath: "/dev/null", permissions: "rw" }],
    annotations: { "plugin.test/ids": "a" },
    cdiDevices: ["v.example/gpu=a"],
  });
  const { requests } = await setUp(t, undefined, { volumes, devices: { devicesFor } });
  const spec = aContainer("a", {
    env: [{ name: "MODE", value: "own" }],
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  });
  const input = { attempt: 0, image, podIPs: [], signal: never };
  const config = await requests.container(aPod({ containers: [spec] }), spec, input);
  assert.deepEqual(
    config.envs?.slice(0, 2).map(({ key, value }) => `${key}=${Buffer.from(value ?? [])}`),
    ["IDS=a", "MODE=own"],
  );
  assert.deepEqual(
    config.mounts?.slice(0, 2).map(({ containerPath }) => containerPath),
    ["/plugin", "/data"],
  );
  assert.deepEqual(
    config.devices?.map(({ containerPath }) => containerPath),
    ["/dev/gpu", "/dev/block"],
  );
  assert.deepEqual(config.CDIDevices, [{ name: "v.example/gpu=a" }]);
  assert.equal(config.annotations?.["plugin.test/ids"], "a");
});

test("the failed pull of an image volume is reported as that of a container image, with the time of the next pull", async (t) => {
  const failure = new KubeletError("ImagePullBackOff", 'Back-off pulling image "i"', {
    retryAt: monotonicTime(5),
  });
  const volumes = { mountsFor: () => Promise.reject(failure), devicesFor: async () => [] };
  const { requests } = await setUp(t, undefined, { volumes });
  const request = { attempt: 0, image, podIPs: ["10.0.0.5"], signal: never };
  await assert.rejects(requests.container(aPod(), aContainer("a"), request), failure);
  const other = new KubeletError("Volume", "not mounted");
  const { requests: otherRequests } = await setUp(t, undefined, {
    volumes: { ...volumes, mountsFor: () => Promise.reject(other) },
  });
  const code = "CreateContainerConfigError";
  await assert.rejects(otherRequests.container(aPod(), aContainer("a"), request), { code });
});

const fromManifest = (spec: object): Pod => {
  const written = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } };
  const origin = { source: "file", path: "/p" } as const;
  const result = makeStaticPod(
    { ...written, spec: { containers: [{ name: "c", image: "i" }], ...spec } },
    { nodeName: "n", origin },
  );
  assert.ok("pod" in result, JSON.stringify(result));
  return result.pod;
};
/** A copy of the pod with a new spec, like the one with its allocated resources. */
const resized = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, resources: { limits: { cpu: "1" } } } });
const ofApi = (metadata: object) => aPod({ dnsPolicy: "ClusterFirst" }, { annotations: {}, ...metadata });
const applied = (spec: object) => ({
  annotations: { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ spec }) },
});
const managed = (operation: string) => ({
  managedFields: [{ operation, fieldsV1: { "f:spec": { "f:dnsPolicy": {} } } }],
});
const missing: [rule: string, pod: Pod, reported: boolean][] = [
  ["a manifest without a policy", fromManifest({}), false],
  ["a manifest with the policy", fromManifest({ dnsPolicy: "ClusterFirst" }), true],
  [
    "a manifest with the policy, with other resources",
    resized(fromManifest({ dnsPolicy: "ClusterFirst" })),
    true,
  ],
  [
    "a manifest with ClusterFirstWithHostNet",
    fromManifest({ dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true }),
    true,
  ],
  ["a manifest with another policy", fromManifest({ dnsPolicy: "Default" }), false],
  ["a pod from the API server whose policy may be the default", ofApi({}), false],
  ["a pod that was created with it", ofApi(managed("Update")), false],
  ["a pod that was applied without a policy", ofApi(applied({ containers: [] })), false],
  ["a pod that was applied with the policy", ofApi(applied({ dnsPolicy: "ClusterFirst" })), true],
  ["a pod that was applied server-side", ofApi(managed("Apply")), true],
  [
    "an annotation that is not JSON",
    ofApi({ annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{" } }),
    false,
  ],
];
for (const [rule, pod, reported] of missing)
  test(`a single node ${reported ? "reports" : "does not report"} missing cluster DNS for ${rule}`, async (t) => {
    const { requests, events } = await setUp(t, undefined, {
      clusterDns: [],
      reportsMissingDns: hasExplicitDnsPolicy,
    });
    await requests.sandbox({ ...pod, metadata: { ...pod.metadata } }, 0);
    assert.deepEqual(events, reported ? ["MissingClusterDNS"] : []);
  });

// parity: event MissingClusterDNS
test("a node of a cluster reports missing cluster DNS for each pod with that policy", async (t) => {
  const { requests, events } = await setUp(t, undefined, { clusterDns: [] });
  await requests.sandbox(ofApi({}), 0);
  assert.deepEqual(events, ["MissingClusterDNS"]);
});

// parity: event DNSConfigForming
test("a problem with resolv.conf is reported once per pod", async (t) => {
  const servers = [1, 2, 3, 4].map((n) => `nameserver 192.0.2.${n}\n`).join("");
  const { requests, events } = await setUp(t, servers);
  const pod = aPod({ dnsPolicy: "Default" });
  for (let i = 0; i < 3; i++) await requests.sandbox(pod, 0);
  assert.deepEqual(events, ["DNSConfigForming"]);
});

test("a container gets a hosts file with the pod's address, and a termination message file", async (t) => {
  const { dir, requests } = await setUp(t);
  const container = aContainer("a", { terminationMessagePath: "/dev/termination-log" });
  const pod = aPod({ containers: [container] });
  const request = { attempt: 0, image, podIPs: ["10.0.0.5"], signal: never };
  const config = await requests.container(pod, container, request);
  assert.match(await readFile(join(dir, "pods", testUid, "etc-hosts"), "utf8"), /^10\.0\.0\.5\s+p$/m);
  const last = config.mounts?.find((m) => m.containerPath === "/dev/termination-log");
  const file = await stat(last!.hostPath!);
  assert.ok(file.isFile());
  assert.equal(file.mode & 0o777, 0o666);
  const again = await requests.container(pod, container, { ...request, attempt: 1 });
  const next = again.mounts?.find((m) => m.containerPath === "/dev/termination-log");
  assert.notEqual(next?.hostPath, last?.hostPath, "each start has its own");
});

test("a container whose configuration fails leaves no files", async (t) => {
  const { dir, requests } = await setUp(t);
  const container = aContainer("a", {
    terminationMessagePath: "/dev/termination-log",
    securityContext: { runAsNonRoot: true, runAsUser: 0 },
  });
  const pod = aPod({ containers: [container] });
  const attempt = () => requests.container(pod, container, { attempt: 0, image, podIPs: [], signal: never });
  for (let i = 0; i < 3; i++) await assert.rejects(attempt(), /breaks non-root policy/);
  await assert.rejects(readdir(join(dir, "pods", testUid)), { code: "ENOENT" });
});

test("a pod on the node's network has the node's hosts", async (t) => {
  const { dir, requests } = await setUp(t);
  const pod = aPod({ hostNetwork: true });
  await requests.container(pod, pod.spec.containers[0]!, { ...request, podIPs: [] });
  const hosts = await readFile(join(dir, "pods", testUid, "etc-hosts"), "utf8");
  assert.ok(hosts.includes((await readFile("/etc/hosts", "utf8")).trim()));
});

const defaults = undefined;
const request = { attempt: 0, image, podIPs: ["10.0.0.5"], signal: never };

test("a pod on the node's network has the node's addresses", async (t) => {
  const { requests } = await setUp(t);
  const env: EnvVar[] = [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }];
  const pod = aPod({ hostNetwork: true, containers: [aContainer("a", { env })] });
  const config = await requests.container(pod, pod.spec.containers[0]!, { ...request, podIPs: [] });
  assert.deepEqual(valuesOf(config), { IP: fakeNode.hostIps[0] });
});

test("an FQDN that is too long is an error only for a pod that has it as host name", async (t) => {
  const { requests } = await setUp(t);
  const long = { subdomain: "s".repeat(60), setHostnameAsFQDN: true, dnsPolicy: "Default" };
  const error = { code: "ConfigPodSandboxError", message: /^failed to construct FQDN from pod hostname/ };
  await assert.rejects(requests.sandbox(aPod(long), 0), error);
  assert.equal((await requests.sandbox(aPod({ ...long, hostNetwork: true }), 0)).hostname, "");
});

// parity: gate HostnameOverride=true as hostnameOverrides, gate HostnameOverride=false as hostnameOverrides
test("hostnameOverride is used unless its feature gate is off", async (t) => {
  const pod = aPod({ hostnameOverride: "other.example.test", dnsPolicy: "Default" });
  const on = await setUp(t);
  assert.equal((await on.requests.sandbox(pod, 0)).hostname, "other.example.test");
  const off = await setUp(t, defaults, { hostnameOverrides: false });
  assert.equal((await off.requests.sandbox(pod, 0)).hostname, "p");
});

test("a RuntimeClass names the handler; without an API the default handler is used", async (t) => {
  const pod = aPod({ runtimeClassName: "sandboxed", dnsPolicy: "Default" });
  const standalone = await setUp(t);
  assert.equal(standalone.requests.runtimeHandler(pod), "");
  const classes = new Map([["sandboxed", { handler: "kata" }]]);
  const { requests } = await setUp(t, defaults, {
    handlers: new RuntimeHandlers({ runtimeClass: (name) => classes.get(name) }),
  });
  assert.equal(requests.runtimeHandler(pod), "kata");
  assert.equal(requests.runtimeHandler(aPod()), "");
  classes.clear();
  await assert.rejects(requests.sandbox(pod, 0), {
    code: "ConfigPodSandboxError",
    message: 'runtimeclass.node.k8s.io "sandboxed" not found',
  });
});

test("a pod with a user namespace gets ID mappings, in its sandbox and on the mounts of its containers", async (t) => {
  const ids = [{ hostId: 131_072, containerId: 0, length: 65_536 }];
  const { requests } = await setUp(t, defaults, {
    features: { handlers: () => [{ name: "", userNamespaces: true }] },
    userNamespaces: { mappingsFor: async () => ({ first: 131_072, length: 65_536 }) },
  });
  const pod = aPod({ hostUsers: false, dnsPolicy: "Default" });
  const want = { mode: NamespaceMode.POD, uids: ids, gids: ids };
  const sandbox = await requests.sandbox(pod, 0);
  assert.deepEqual(sandbox.linux?.securityContext?.namespaceOptions?.usernsOptions, want);
  const config = await requests.container(pod, pod.spec.containers[0]!, request);
  assert.deepEqual(config.linux?.securityContext?.namespaceOptions?.usernsOptions, want);
  assert.deepEqual(config.mounts?.[0]?.uidMappings, ids);
});

test("a runtime without user namespaces is an error for a pod that needs one", async (t) => {
  const { requests } = await setUp(t);
  await assert.rejects(requests.sandbox(aPod({ hostUsers: false, dnsPolicy: "Default" }), 0), {
    code: "ConfigPodSandboxError",
    message: "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
  });
});

test("an ephemeral container sees the processes of the container that it names", async (t) => {
  const { requests } = await setUp(t);
  const debug = { ...aContainer("debug"), targetContainerName: "a" } as Container;
  const withA = { ...request, observed: anObservedPod([anObservedContainer("a", { attempt: 2 })]) };
  const config = await requests.container(aPod(), debug, withA);
  const options = config.linux?.securityContext?.namespaceOptions;
  assert.deepEqual([options?.pid, options?.targetId], [NamespaceMode.TARGET, "a-2"]);
  const withoutA = { ...request, observed: anObservedPod([]) };
  await assert.rejects(requests.container(aPod(), debug, withoutA), {
    code: "CreateContainerConfigError",
    message: "unable to find target container a",
  });
});

test("environment variables come from files in a volume", async (t) => {
  const { dir, requests } = await setUp(t);
  const volume = join(dir, "v");
  await mkdir(volume, { recursive: true });
  await writeFile(join(volume, "env"), "A='1'\nB='two\nlines'\n");
  await writeFile(join(volume, "bad"), "A=1\n");
  const start = (key: string, path = "env", volumeName = "v") => {
    const fileKeyRef = { volumeName, path, key };
    const container = aContainer("a", {
      env: [{ name: "V", valueFrom: { fileKeyRef } as EnvVar["valueFrom"] }],
    });
    const volumes = [
      { name: "v", emptyDir: {} },
      { name: "host", hostPath: { path: "/etc" } },
    ];
    return requests.container(aPod({ containers: [container], volumes }), container, request).then(valuesOf);
  };
  assert.deepEqual(await start("B"), { V: "two\nlines" });
  const code = "CreateContainerConfigError";
  const notFound = `environment variable key "C" not found in file "${join(volume, "env")}"`;
  await assert.rejects(start("C"), { code, message: notFound });
  await assert.rejects(start("A", "bad"), {
    code,
    message: /^couldn't parse env file: .* at line 1: value must/,
  });
  await assert.rejects(start("A", "none"), {
    code,
    message: /^couldn't parse env file: open none: no such file/,
  });
  const noVolume = 'cannot find the volume "host" referenced by FileKeyRef';
  await assert.rejects(start("A", "passwd", "host"), { code, message: noVolume });
});

test("image volumes are pulled with the configuration of the sandbox", async (t) => {
  let pulledWith: unknown;
  const { requests } = await setUp(t, undefined, {
    volumes: {
      async mountsFor(_pod, _container, _env, o) {
        pulledWith = await o.sandbox();
        return [];
      },
      devicesFor: async () => [],
    },
  });
  const container = aContainer("a");
  const pod = aPod({ containers: [container] });
  await requests.container(pod, container, request);
  assert.deepEqual(pulledWith, await requests.sandbox(pod, 0));
});

test("an aborted request is not a configuration error", async (t) => {
  const aborted = abortError("the pod is being terminated");
  const { requests } = await setUp(t, undefined, {
    volumes: {
      mountsFor: (_pod, _container, _env, o) => Promise.reject(o.signal.reason),
      devicesFor: async () => [],
    },
  });
  const container = aContainer("a");
  const pod = aPod({ containers: [container] });
  const signal = AbortSignal.abort(aborted);
  await assert.rejects(requests.container(pod, container, { ...request, signal }), aborted);
});

test("a container that refers to a ConfigMap is not created if there is no API server", async (t) => {
  const { requests } = await setUp(t);
  const container = aContainer("a", { envFrom: [{ configMapRef: { name: "cm" } }] });
  await assert.rejects(requests.container(aPod({ containers: [container] }), container, request), {
    code: "CreateContainerConfigError",
    message: "couldn't get configMap default/cm, no kubeClient defined",
  });
});

function valuesOf(config: { envs?: { key?: string; value?: Uint8Array }[] }): Record<string, string> {
  return Object.fromEntries(
    (config.envs ?? []).map(({ key = "", value = new Uint8Array() }) => [key, Buffer.from(value).toString()]),
  );
}
