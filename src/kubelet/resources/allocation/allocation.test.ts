import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, it, type TestContext } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid, ResourceRequirements } from "../../../lib/model/pod.ts";
import { Allocation } from "./allocation.ts";
import { decodeCheckpoint } from "./checkpoint.ts";

const small: ResourceRequirements = { requests: { cpu: "100m", memory: "16Mi" }, limits: { memory: "64Mi" } };
const large: ResourceRequirements = {
  requests: { cpu: "200m", memory: "16Mi" },
  limits: { memory: "128Mi" },
};
const podWith = (resources: ResourceRequirements, generation = 1): Pod =>
  fakePod({ metadata: { generation }, spec: { containers: [{ name: "c", resources }] } });

describe("the allocation of pods", () => {
  let rootDir = "";
  const events: string[] = [];
  beforeEach((t) => {
    rootDir = mkdtempSync(join(tmpdir(), "allocation-"));
    (t as TestContext).after(() => rmSync(rootDir, { recursive: true }));
    events.length = 0;
  });
  const start = async (gates = { podLevel: true, initContainers: true }) => {
    const allocation = new Allocation({
      ...{ rootDir, gates, clock: new FakeClock(1000), logger: silentLogger },
      events: { warning: (_pod, reason, message) => events.push(`${reason} ${message}`) },
    });
    await allocation.start();
    return allocation;
  };
  const entryOf = (file: string, { metadata }: Pod) =>
    decodeCheckpoint(readFileSync(join(rootDir, file), "utf8")).get(metadata.uid);

  it("is what their spec had when they were admitted, whatever changes later, even after a restart", async () => {
    const first = await start();
    const pod = podWith(small);
    assert.equal(first.updated(pod), pod);
    first.admitted(pod);
    assert.deepEqual(first.updated(podWith(large, 2)).spec.containers[0]?.resources, small);
    await first.flushed();
    const second = await start();
    assert.deepEqual(second.updated(podWith(large, 2)).spec.containers[0]?.resources, small);
    assert.equal(second.pending(pod.metadata.uid)?.reason, "Infeasible");
  });

  it("reports a resize once, with the requested resources, and drops it when it is reverted", async () => {
    const allocation = await start();
    const pod = podWith(small);
    allocation.admitted(pod);
    for (let i = 0; i < 2; i++) allocation.updated(podWith(large, 2));
    assert.equal(allocation.pending(pod.metadata.uid)?.generation, 2);
    const [event = "", ...more] = events;
    assert.deepEqual(more, []);
    assert.match(event, /^ResizeInfeasible Pod resize Infeasible: \{"containers":\[\{"name":"c",/);
    assert.match(event, /"generation":2,"error":"In-place resize is not supported/);
    assert.equal(
      allocation.updated(podWith({ ...small, requests: { cpu: "0.1", memory: "16Mi" } }, 3)).metadata
        .generation,
      3,
    );
    assert.equal(allocation.pending(pod.metadata.uid), undefined);
  });

  it("does not report again what the previous agent reported", async () => {
    const allocation = await start();
    allocation.admitted(podWith(small));
    const conditions = [
      { type: "PodResizePending", status: "True" as const, reason: "Infeasible", observedGeneration: 2 },
    ];
    allocation.updated({ ...podWith(large, 2), status: { phase: "Running", conditions } });
    assert.deepEqual(events, []);
    assert.notEqual(allocation.pending(podWith(small).metadata.uid), undefined);
  });

  it("is written for the other kubelet: limits of the pod are those of containers without one", async () => {
    const allocation = await start();
    const resources = { requests: { cpu: "1" }, limits: { cpu: "2", memory: "96Mi" } };
    const pod = fakePod({ spec: { resources, containers: [{ name: "c", resources: small }] } });
    allocation.admitted(pod);
    await allocation.flushed();
    assert.deepEqual(entryOf("allocated_pods_state", pod), {
      containers: new Map([["c", small]]),
      pod: resources,
    });
    const actuated = { ...small, limits: { cpu: "2", memory: "64Mi" } };
    assert.deepEqual(entryOf("actuated_pods_state", pod), {
      containers: new Map([["c", actuated]]),
      pod: resources,
    });
  });

  it("keeps what containers were started with until they are started again", async () => {
    const { uid } = podWith(small).metadata;
    const first = await start();
    first.admitted(podWith(small));
    await first.flushed();
    // The other kubelet has allocated more since, and has not actuated it.
    rmSync(join(rootDir, "allocated_pods_state"));
    const allocation = await start();
    const now = podWith(large);
    allocation.admitted(now);
    assert.deepEqual(allocation.actuated(uid, "c"), small);
    allocation.containerStarted(now, now.spec.containers[0]!);
    assert.deepEqual(allocation.actuated(uid, "c"), large);
  });

  it("leaves out resources that cannot be resized, and unknown pods", async () => {
    const allocation = await start({ podLevel: false, initContainers: false });
    const initContainers = [{ name: "i" }, { name: "s", restartPolicy: "Always" as const }];
    const pod = fakePod({ spec: { initContainers, containers: [{ name: "c" }] } });
    const other = fakePod({ metadata: { uid: "other" as PodUid } });
    allocation.admitted(other);
    allocation.admitted(pod);
    allocation.keepOnly((uid) => uid === pod.metadata.uid);
    allocation.containerStarted(pod, pod.spec.containers[0]!);
    allocation.admitted(pod);
    await allocation.flushed();
    assert.deepEqual([...(entryOf("allocated_pods_state", pod)?.containers.keys() ?? [])], ["c", "s"]);
    assert.equal(entryOf("actuated_pods_state", other), undefined);
  });

  it("may be any amount that the API server accepts", async () => {
    const allocation = await start();
    const pod = podWith({ requests: { cpu: "1m" }, limits: { cpu: "1e1002", memory: "1e-1002" } });
    allocation.admitted(pod);
    assert.equal(allocation.allocatedPod(pod), pod);
    allocation.containerStarted(pod, pod.spec.containers[0]!);
    assert.equal(allocation.updated(pod), pod);
  });

  it("fails to start with a corrupt file, and names it", async () => {
    const path = join(rootDir, "allocated_pods_state");
    writeFileSync(path, '{"data":"{}","checksum":1}');
    await assert.rejects(start(), {
      message: `could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete pod resource information checkpoint file "${path}" before restarting Kubelet`,
    });
  });
});
