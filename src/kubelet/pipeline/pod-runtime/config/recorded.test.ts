import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { create, type DescMessage, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import { isObject } from "../../../../lib/base/json-value.ts";
import * as api from "../../../../lib/gen/runtime/v1/api_pb.js";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import { buildContainerConfig } from "./container-config.ts";
import type { ContainerContext, MountInit, NodeInfo, RuntimeSettings } from "./context.ts";
import { buildSandboxConfig } from "./sandbox-config.ts";

/** Where our requests differ from the recorded ones, and why. Paths are matched as regular expressions. */
const differences: { path: RegExp; reason: string; same: (recorded: unknown, ours: unknown) => boolean }[] = [
  {
    path: /^mounts\.\d+\.host_path$/,
    reason: "The last part of the termination message file's name is random in both.",
    same: (recorded, ours) =>
      recorded === ours ||
      (/\/containers\/[^/]+\/[0-9a-f]{8}$/.test(String(recorded)) && sibling(recorded) === sibling(ours)),
  },
  {
    path: /^envs$/,
    reason: "The reference kubelet has variables in random order; ours are in declared order.",
    same: (recorded, ours) => assertEqual(sortEnvs(recorded), sortEnvs(ours)),
  },
];

const fixtures = new URL("../../../../../test/fixtures/recorded/", import.meta.url);

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
interface Call {
  method: string;
  request: { config?: { [key: string]: Json } };
}

const calls = readFileSync(new URL("cri-requests.jsonl", fixtures), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Call);

const firstSeen: Record<string, string> = {
  hostnet: "2026-11-15T03:09:36.810711092Z",
  crash: "2026-11-15T03:09:36.821888971Z",
  full: "2026-11-15T03:09:36.790409164Z",
};
const pods = new Map(Object.keys(firstSeen).map((name) => [name, readPod(name)]));

/** The pod at the time of the requests: with the source's annotations, and no status yet. */
function readPod(name: string): Pod {
  const { status: _, ...pod } = JSON.parse(
    readFileSync(new URL(`pod-${name}.json`, fixtures), "utf8"),
  ) as Pod;
  const annotations = {
    ...pod.metadata.annotations,
    "kubernetes.io/config.source": "api",
    "kubernetes.io/config.seen": firstSeen[name] ?? "",
  };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

const node: NodeInfo = {
  hostIps: ["192.0.2.10"],
  memoryCapacity: 24682416n * 1024n,
  swapCapacity: 0n,
  allocatable: { cpu: "2", memory: "24580016Ki" },
  cgroupVersion: 1,
  swapAccounting: true,
  hugepageSizes: ["2MB", "1GB"],
  pageSize: 4096n,
  selinux: false,
  extraMaskedPaths: [],
};
const settings: RuntimeSettings = {
  rootDir: "/var/lib/kubelet",
  podLogsDir: "/var/log/pods",
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000n,
  seccompDefault: false,
  swapBehavior: "NoSwap",
  singleProcessOomKill: true,
  memoryThrottlingFactor: 0.9,
  memoryReservationPolicy: "None",
  gates: { podLevelResources: true, memoryQos: false, containerStopSignals: false },
};
const clusterDns = {
  servers: ["10.96.0.10"],
  searches: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
  options: ["ndots:5"],
};
const sandboxes = {
  hostnet: {
    dns: { servers: ["192.0.2.53"], searches: [], options: [] },
    hostname: "hostnet",
    parent: "/kubepods",
  },
  crash: { dns: clusterDns, hostname: "crash", parent: "/kubepods/besteffort" },
  full: { dns: clusterDns, hostname: "web-0", parent: "/kubepods/burstable" },
};
const podIps: Record<string, string[]> = {
  hostnet: ["192.0.2.10"],
  crash: ["10.91.1.97"],
  full: ["10.91.1.98"],
};

function serviceEnv(name: string, ip: string, port: string, portName: string): Record<string, string> {
  return {
    [`${name}_SERVICE_HOST`]: ip,
    [`${name}_SERVICE_PORT`]: port,
    [`${name}_SERVICE_PORT_${portName}`]: port,
    [`${name}_PORT`]: `tcp://${ip}:${port}`,
    [`${name}_PORT_${port}_TCP`]: `tcp://${ip}:${port}`,
    [`${name}_PORT_${port}_TCP_PROTO`]: "tcp",
    [`${name}_PORT_${port}_TCP_PORT`]: port,
    [`${name}_PORT_${port}_TCP_ADDR`]: ip,
  };
}

const volumeDirs: Record<string, string> = {
  e: "kubernetes.io~empty-dir",
  m: "kubernetes.io~empty-dir",
  cm: "kubernetes.io~configmap",
  sec: "kubernetes.io~secret",
  dw: "kubernetes.io~downward-api",
};

/** The mounts of a volume manager. */
function mountsFor(pod: Pod, container: Container): MountInit[] {
  const dir = `/var/lib/kubelet/pods/${pod.metadata.uid}`;
  return (container.volumeMounts ?? []).map((mount, index) => ({
    containerPath: mount.mountPath,
    hostPath: mount.subPath
      ? `${dir}/volume-subpaths/${mount.name}/${container.name}/${index}`
      : `${dir}/volumes/${volumeDirs[mount.name]}/${mount.name}`,
    readonly: ["cm", "sec", "dw"].includes(mount.name),
  }));
}

function contextFor(podName: string, attempt: number): ContainerContext {
  return {
    node,
    settings,
    attempt,
    imageRef: "sha256:1862240eb6cba965714d49a042aca6f15430f5df5af13dceb631c626ea5764d7",
    imageUser: { uid: 0n },
    podIps: podIps[podName] ?? [],
    terminationFile: "00000000",
    serviceEnv: {
      ...serviceEnv("KUBERNETES", "10.96.0.1", "443", "HTTPS"),
      ...serviceEnv("WEB", "10.96.52.130", "80", "HTTP"),
    },
    envObjects: { configMap: () => ({ a: "1", b: "2" }), secret: () => ({ password: "x" }) },
    mountsFor,
  };
}

describe("requests for the observed pods", () => {
  for (const [name, sandbox] of Object.entries(sandboxes)) {
    it(`RunPodSandbox of ${name} is the recorded one`, () => {
      const pod = pods.get(name)!;
      const ours = buildSandboxConfig(pod, {
        node,
        settings,
        attempt: 0,
        dns: sandbox.dns,
        hostname: sandbox.hostname,
        cgroupParent: `${sandbox.parent}/pod${pod.metadata.uid}`,
      });
      const recorded = recordedConfigs(
        "RunPodSandbox",
        (c) => (c.metadata as { name: string }).name === name,
      );
      assert.equal(recorded.length, 1);
      compare(recorded[0]!, wire(api.PodSandboxConfigSchema, ours));
    });
  }

  const containers = calls.filter((call) => call.method === "CreateContainer");
  it("there are eight recorded containers", () => assert.equal(containers.length, 8));
  for (const { request } of containers) {
    const recorded = request.config!;
    const { name, attempt = 0 } = recorded.metadata as { name: string; attempt?: number };
    const podName = (recorded.labels as Record<string, string>)["io.kubernetes.pod.name"]!;
    it(`CreateContainer of ${podName}/${name}, attempt ${attempt}, is the recorded one`, () => {
      const pod = pods.get(podName)!;
      const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find(
        (c) => c.name === name,
      )!;
      const ours = buildContainerConfig(pod, container, contextFor(podName, attempt));
      compare(recorded, wire(api.ContainerConfigSchema, ours));
    });
  }
});

function recordedConfigs(method: string, matches: (config: { [key: string]: Json }) => boolean) {
  return calls
    .filter((c) => c.method === method)
    .flatMap((c) => (c.request.config && matches(c.request.config) ? [c.request.config] : []));
}

/** Converts our request to the format of the recording: field names of the .proto file, no zero values, bytes as text. */
function wire<S extends DescMessage>(schema: S, init: MessageInitShape<S>): Json {
  const message = create(schema, init);
  assert.ok(toBinary(schema, message).length > 0);
  return withoutZeros(toJson(schema, message, { useProtoFieldName: true }) as Json) ?? {};
}

/** int64 is text in protobuf's JSON and a number in the recording; bytes are base64 and text. */
function withoutZeros(value: Json, key = ""): Json | undefined {
  if (Array.isArray(value)) {
    const items = value.map((item) => withoutZeros(item, key) ?? (typeof item === "object" ? {} : item));
    return items.length > 0 ? items : undefined;
  }
  if (value !== null && typeof value === "object") {
    const map = ["labels", "annotations", "sysctls", "unified"].includes(key);
    const isEnv = Object.hasOwn(value, "key");
    const entries = Object.entries(value).flatMap(([name, item]) => {
      if (map) return [[name, item] as const];
      if (isEnv && name === "value") return [[name, Buffer.from(String(item), "base64").toString()] as const];
      const kept = withoutZeros(item, name);
      return kept === undefined ? [] : [[name, kept] as const];
    });
    return entries.length > 0 ? Object.fromEntries(entries) : undefined;
  }
  if (typeof value === "string" && integers.has(key)) return Number(value) === 0 ? undefined : Number(value);
  return value === "" || value === 0 || value === false || value === null ? undefined : value;
}

const integers = new Set([
  "cpu_period",
  "cpu_quota",
  "cpu_shares",
  "memory_limit_in_bytes",
  "memory_swap_limit_in_bytes",
  "oom_score_adj",
  "limit",
  "supplemental_groups",
  "value",
]);

/** Every field of either side must be the same, or be in the list above. */
function compare(recorded: Json | undefined, ours: Json, path = ""): void {
  const allowed = differences.find((difference) => difference.path.test(path));
  if (allowed) {
    assert.ok(allowed.same(recorded, ours), `${path}: not even equal as: ${allowed.reason}`);
    return;
  }
  if (Array.isArray(recorded) && Array.isArray(ours)) {
    assert.equal(
      ours.length,
      recorded.length,
      `${path}: ${JSON.stringify(ours)} has a different length than recorded`,
    );
    for (const [index, item] of recorded.entries()) compare(item, ours[index]!, join(path, String(index)));
    return;
  }
  if (isObject(recorded) && isObject(ours)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(ours)])) {
      assert.ok(Object.hasOwn(recorded, key), `${join(path, key)} is not in the recorded request`);
      assert.ok(Object.hasOwn(ours, key), `${join(path, key)} is missing in ours`);
      compare(recorded[key], ours[key]!, join(path, key));
    }
    return;
  }
  assert.deepEqual(ours, recorded, path);
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

function sibling(path: unknown): string {
  return String(path).replace(/[^/]+$/, "");
}

function sortEnvs(envs: unknown): unknown {
  return (envs as { key: string }[]).toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

function assertEqual(a: unknown, b: unknown): boolean {
  assert.deepEqual(b, a);
  return true;
}
