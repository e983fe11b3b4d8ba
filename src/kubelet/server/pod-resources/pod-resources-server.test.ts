import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Client } from "@grpc/grpc-js";
import { systemClock } from "../../../lib/base/clock.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import { callUnary, openChannel } from "../../../lib/clients/cri/grpc-call.ts";
import { PodResourcesLister } from "../../../lib/gen/podresources/v1/api_pb.js";
import { PodResourcesLister as AlphaLister } from "../../../lib/gen/podresources/v1alpha1/api_pb.js";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { PodResourcesServer } from "./pod-resources-server.ts";
import type { PodResourcesSources } from "./sources.ts";

const pod = fakePod({
  metadata: { name: "web", namespace: "default", uid: "u1" as PodUid },
  spec: {
    initContainers: [{ name: "once" }, { name: "side", restartPolicy: "Always" }],
    containers: [{ name: "main" }],
  },
});

const topology = { nodes: [{ ID: 0n }] };
const sources: PodResourcesSources = {
  pods: {
    active: () => [pod],
    byName: (namespace, name) => (namespace === "default" && name === "web" ? pod : undefined),
  },
  devices: {
    of: (_, container) =>
      container === "main" ? [{ resourceName: "x/gpu", deviceIds: ["g0"], topology }] : [],
    all: () => [{ resourceName: "x/gpu", deviceIds: ["g0", "g1"], topology }],
  },
  cpus: { of: (_, container) => (container === "side" ? [2, 3] : []), all: () => [0, 1, 2, 3] },
  memory: {
    of: () => [],
    all: () => [{ memoryType: "memory", size: 1024n, topology }],
  },
};

const limits = { clock: systemClock, timeoutMs: 5000, signal: undefined };

describe("pod resources", () => {
  let dir = "";
  let socketPath = "";
  let channel: Client;
  const clock = new FakeClock();
  const metrics = createMetrics();
  const stop = new AbortController();
  const v1 = PodResourcesLister.method;

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "pod-resources-"));
    socketPath = join(dir, "pod-resources/kubelet.sock");
    await new PodResourcesServer({ socketPath, sources, clock, logger: silentLogger, metrics }).start(
      stop.signal,
    );
    channel = openChannel(socketPath);
  });
  after(async () => {
    channel.close();
    stop.abort();
    await rm(dir, { recursive: true });
  });

  // parity: endpoint socket pod-resources/kubelet.sock v1.PodResourcesLister
  it("List: sidecars and containers of active pods, with their resources", async () => {
    const { podResources } = await callUnary(channel, v1.list, {}, limits);
    assert.deepEqual(
      podResources.map(({ name, namespace, containers }) => [
        name,
        namespace,
        containers.map((c) => [c.name, c.cpuIds, c.devices.map((d) => [d.resourceName, d.deviceIds])]),
      ]),
      [
        [
          "web",
          "default",
          [
            ["side", [2n, 3n], []],
            ["main", [], [["x/gpu", ["g0"]]]],
          ],
        ],
      ],
    );
    assert.deepEqual(podResources[0]?.containers[1]?.devices[0]?.topology?.nodes[0]?.ID, 0n);
  });

  // parity: gate KubeletPodResourcesGet=true as podResources
  it("Get: one pod, or UNKNOWN if there is none", async () => {
    const found = await callUnary(channel, v1.get, { podName: "web", podNamespace: "default" }, limits);
    assert.equal(found.podResources?.containers.length, 2);
    await assert.rejects(
      callUnary(channel, v1.get, { podName: "no", podNamespace: "default" }, limits),
      (error: Error) =>
        hasGrpcCode(error, "UNKNOWN") && /pod no in namespace default not found/.test(error.message),
    );
  });

  it("GetAllocatableResources: all resources", async () => {
    const all = await callUnary(channel, v1.getAllocatableResources, {}, limits);
    assert.deepEqual(all.cpuIds, [0n, 1n, 2n, 3n]);
    assert.deepEqual(all.devices[0]?.deviceIds, ["g0", "g1"]);
    assert.equal(all.memory[0]?.size, 1024n);
  });

  it("v1alpha1 List: containers and their devices", async () => {
    const { podResources } = await callUnary(channel, AlphaLister.method.list, {}, limits);
    assert.deepEqual(
      podResources[0]?.containers.map((c) => [c.name, c.devices.map((d) => d.deviceIds)]),
      [["main", [["g0"]]]],
    );
  });

  it("requests beyond the burst of ten are rejected, and only served ones are counted", async () => {
    await clock.advance(60_000);
    const responses = await Promise.allSettled(
      Array.from({ length: 15 }, () => callUnary(channel, v1.list, {}, limits)),
    );
    const rejected = responses.filter((a) => a.status === "rejected");
    assert.equal(rejected.length, 5);
    for (const { reason } of rejected) {
      assert.ok(hasGrpcCode(reason, "RESOURCE_EXHAUSTED"));
      assert.match((reason as Error).message, /rejected by rate limit/);
    }
    await clock.advance(10);
    await callUnary(channel, v1.list, {}, limits);
    assert.deepEqual(await metricValues(metrics, "kubelet_pod_resources_endpoint_requests_list"), {
      "server_api_version=v1": 12,
    });
    assert.deepEqual(await metricValues(metrics, "kubelet_pod_resources_endpoint_errors_get"), {
      "server_api_version=v1": 1,
    });
  });

  it("only root can open the socket, and nothing else is in the directory", async () => {
    const { mode } = await stat(socketPath);
    assert.equal(mode & 0o022, 0);
    assert.deepEqual(await readdir(dirname(socketPath)), ["kubelet.sock"]);
    assert.equal((await stat(dirname(socketPath))).mode & 0o777, 0o750);
  });
});

it("a stale file is replaced, and sources are optional", async () => {
  const dir = await mkdtemp(join(tmpdir(), "pod-resources-"));
  const stop = new AbortController();
  try {
    const socketPath = join(dir, "kubelet.sock");
    await writeFile(socketPath, "left over");
    const { pods } = sources;
    const options = { socketPath, sources: { pods }, clock: systemClock, logger: silentLogger };
    const first = new PodResourcesServer({ ...options, metrics: createMetrics() });
    const firstStop = new AbortController();
    await first.start(firstStop.signal);
    firstStop.abort();
    await first.done;
    await new PodResourcesServer({ ...options, metrics: createMetrics() }).start(stop.signal);
    const channel = openChannel(socketPath);
    const { podResources } = await callUnary(channel, PodResourcesLister.method.list, {}, limits);
    assert.deepEqual(podResources[0]?.containers[0]?.devices, []);
    const all = await callUnary(channel, PodResourcesLister.method.getAllocatableResources, {}, limits);
    assert.deepEqual([all.cpuIds, all.devices, all.memory], [[], [], []]);
    channel.close();
  } finally {
    stop.abort();
    await rm(dir, { recursive: true });
  }
});

it("a socket that cannot be created is reported, and blocks nothing", async () => {
  const dir = await mkdtemp(join(tmpdir(), "pod-resources-"));
  const stop = new AbortController();
  const errors: unknown[] = [];
  const logger = { ...silentLogger, error: (_: string, fields?: object) => errors.push(fields) };
  try {
    const socketPath = join(dir, "x".repeat(120), "kubelet.sock");
    const options = { socketPath, sources: { pods: sources.pods }, clock: systemClock, logger };
    const server = new PodResourcesServer({ ...options, metrics: createMetrics() });
    await server.start(stop.signal);
    assert.equal(server.health().ok, false);
    assert.match(JSON.stringify(errors), /kubelet\.sock: .*(ENAMETOOLONG|EINVAL)/);
    stop.abort();
    await server.done;
  } finally {
    await rm(dir, { recursive: true });
  }
});
