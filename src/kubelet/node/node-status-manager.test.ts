import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { wallTime } from "../../lib/base/time.ts";
import { isReady } from "./conditions.ts";
import { fakeInputs, fakeSettings } from "./fake-info.ts";
import { FakeApiError, FakeNodeApi, writable } from "./fake-node-api.ts";
import type { StatusInputs } from "./node-status.ts";
import { NodeStatusManager, type NodeStatusOptions } from "./node-status-manager.ts";
import type { NodeObject } from "./node-types.ts";

const second = 1000;
const notReadyYet = ["container runtime network not ready"];

/** A manager in simulated time, with an API that enforces NodeRestriction. */
function world(changes: Partial<NodeStatusOptions> = {}) {
  const clock = new FakeClock();
  const api = new FakeNodeApi("bench-node");
  const events: string[] = [];
  const nodeState: { info: Partial<StatusInputs>; notReady: string[] } = { info: {}, notReady: [] };
  const stop = new AbortController();
  const manager = new NodeStatusManager({
    api,
    settings: fakeSettings(),
    info: async () =>
      fakeInputs({
        ...nodeState.info,
        conditions: { pressure: { memory: false, disk: false, pid: false }, notReady: nodeState.notReady },
      }),
    notReady: () => nodeState.notReady,
    registerNode: true,
    getOnExistsOnly: false,
    resetExtendedResources: () => false,
    updateFrequencyMs: 10 * second,
    reportFrequencyMs: 300 * second,
    clock,
    random: () => 0.5,
    events: { normal: (reason) => events.push(reason), warning: (reason) => events.push(`! ${reason}`) },
    logger: silentLogger,
    ...changes,
  });
  return {
    clock,
    api,
    events,
    nodeState,
    manager,
    start: async () => {
      await manager.start(stop.signal);
      await settle();
    },
    /** Stops it, and checks that no request was rejected by NodeRestriction. */
    end: async () => {
      stop.abort();
      await manager.done;
      assert.deepEqual(api.forbidden, []);
      for (const patch of api.patches)
        for (const [top, value] of Object.entries(patch))
          for (const path of top === "metadata"
            ? Object.keys(value as object).map((k) => `${top}.${k}`)
            : [top])
            assert.ok((writable as readonly string[]).includes(path), path);
    },
  };
}

function registered(change: (node: NodeObject) => void = () => {}): NodeObject {
  const node: NodeObject = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "bench-node" },
    spec: {},
    status: {},
  };
  change(node);
  return node;
}

describe("registration", () => {
  it("creates the node with its status, and records it once", async () => {
    const w = world();
    await w.start();
    assert.deepEqual(w.api.calls, ["POST", "GET"]);
    assert.ok(isReady(w.api.node?.status.conditions));
    assert.deepEqual(w.events, ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]);
    await w.manager.whenRegistered(new AbortController().signal);
    await w.end();
  });

  for (const settlesAfterMs of [500, Number.POSITIVE_INFINITY])
    it(`waits until the inputs of its status are known${settlesAfterMs === 500 ? "" : ", 3 seconds at most"}`, async () => {
      const clock = new FakeClock();
      const from = clock.elapsedMs;
      const w = world({ clock, isSettled: () => clock.elapsedMs - from >= settlesAfterMs });
      await w.start();
      const waitMs = Math.min(settlesAfterMs, 3000);
      await clock.advance(waitMs - 1);
      assert.deepEqual(w.api.calls, []);
      await clock.advance(1);
      assert.ok(isReady(w.api.node?.status.conditions));
      await w.end();
    });

  it("waits no longer for its info when the clock is set back", async () => {
    const clock = new FakeClock();
    const w = world({ clock, isSettled: () => false });
    await w.start();
    await clock.advance(1000);
    clock.jump(-3600 * second);
    await clock.advance(2000);
    assert.ok(isReady(w.api.node?.status.conditions));
    await w.end();
  });

  it("is retried until the API can be reached, at most 4 seconds apart", async () => {
    const w = world();
    w.api.fault = () => {
      throw new Error("connection forbidden");
    };
    await w.start();
    await w.clock.advance(60 * second);
    assert.equal(w.api.node, undefined);
    const before = w.api.calls.length;
    assert.ok(before < 25, `${before} attempts`);
    w.api.fault = undefined;
    await w.clock.advance(4 * second);
    assert.ok(isReady((w.api.node as NodeObject | undefined)?.status.conditions));
    assert.equal(w.events.length, 3, "failed attempts are not recorded");
    await w.end();
  });

  it("adopts an existing node: our labels and annotation, never taints", async () => {
    const taints = [{ key: "mine", effect: "NoSchedule" }];
    const w = world({ settings: fakeSettings({ taints, labels: { team: "a" } }) });
    w.api.put(
      registered((node) => {
        node.spec = { taints: [{ key: "theirs", effect: "NoExecute" }], providerID: "p" };
        node.metadata.labels = { "node-restriction.kubernetes.io/secret": "x" };
      }),
    );
    await w.start();
    const { metadata, spec, status } = w.api.node!;
    assert.deepEqual(spec, { taints: [{ key: "theirs", effect: "NoExecute" }], providerID: "p" });
    assert.equal(metadata.labels?.["node-restriction.kubernetes.io/secret"], "x");
    assert.equal(metadata.labels?.["kubernetes.io/hostname"], "bench-node");
    assert.equal(metadata.labels?.team, undefined);
    assert.equal(metadata.annotations?.["volumes.kubernetes.io/controller-managed-attach-detach"], "true");
    assert.ok(isReady(status.conditions));
    await w.end();
  });

  for (const getOnExistsOnly of [false, true])
    it(`where creating is forbidden, an existing node is ${getOnExistsOnly ? "not requested" : "adopted"}`, async () => {
      const w = world({ getOnExistsOnly });
      w.api.put(registered());
      w.api.fault = (call) => {
        if (call === "POST") throw new FakeApiError(403, "forbidden");
      };
      await w.start();
      assert.equal(w.api.calls.includes("GET"), !getOnExistsOnly);
      assert.equal(isReady(w.api.node?.status.conditions), !getOnExistsOnly);
      await w.end();
    });

  it("is skipped with registerNode off, and the status is still updated", async () => {
    const w = world({ registerNode: false });
    await w.start();
    assert.ok(!w.api.calls.includes("POST"));
    w.api.put(registered());
    await w.clock.advance(4 * second);
    assert.ok(isReady(w.api.node?.status.conditions));
    await w.end();
  });

  it("can be waited for until the signal is aborted", async () => {
    const w = world();
    const stop = new AbortController();
    const waiting = w.manager.whenRegistered(stop.signal);
    stop.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    await w.start();
    await w.end();
  });
});

describe("the first Ready", () => {
  it("is set as soon as runtime and network are ready", async () => {
    const w = world();
    w.nodeState.notReady = notReadyYet;
    await w.start();
    assert.ok(!isReady(w.api.node?.status.conditions));
    await w.clock.advance(2 * second);
    w.nodeState.notReady = [];
    await w.clock.advance(100);
    assert.ok(isReady(w.api.node?.status.conditions));
    assert.equal(w.events.at(-1), "NodeReady");
    await w.end();
  });

  it("is polled quickly for two minutes at most", async () => {
    const w = world();
    w.nodeState.notReady = notReadyYet;
    await w.start();
    await w.clock.advance(121 * second);
    assert.equal(w.clock.pending, 1, "only the next round is waited for");
    w.nodeState.notReady = [];
    await w.clock.advance(11 * second);
    assert.ok(isReady(w.api.node?.status.conditions));
    await w.end();
  });

  it("does not send bursts to an API that rejects it", async () => {
    const w = world();
    w.nodeState.notReady = notReadyYet;
    await w.start();
    w.nodeState.notReady = [];
    w.api.fault = () => {
      throw new Error("away");
    };
    const before = w.api.calls.length;
    await w.clock.advance(8 * second);
    assert.ok(w.api.calls.length - before <= 15, `${w.api.calls.length - before} calls`);
    await w.end();
  });
});

describe("status updates", () => {
  it("are written on changes, and otherwise each report period", async () => {
    const w = world();
    await w.start();
    await w.clock.advance(290 * second);
    assert.equal(w.api.patches.length, 0);
    w.nodeState.info = { port: 10250 };
    await w.clock.advance(11 * second);
    assert.equal(w.api.patches.length, 1);
    assert.deepEqual(w.api.patches[0]?.status, {
      ...(w.api.patches[0]?.status as object),
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    });
    await w.clock.advance(290 * second);
    assert.equal(w.api.patches.length, 1);
    await w.clock.advance(21 * second);
    assert.equal(w.api.patches.length, 2, "a heartbeat");
    await w.end();
  });

  it("do not wait for a tick after a wake", async () => {
    const w = world();
    await w.start();
    w.nodeState.notReady = ["container runtime is down"];
    w.manager.wake();
    await settle();
    assert.ok(!isReady(w.api.node?.status.conditions));
    assert.equal(w.events.at(-1), "NodeNotReady");
    await w.end();
  });

  it("are repeated immediately when something changes during one", async () => {
    const w = world();
    await w.start();
    w.nodeState.info = { port: 1 };
    w.api.fault = (call) => {
      if (call !== "PATCH") return;
      w.api.fault = undefined;
      w.nodeState.info = { port: 2 };
      w.manager.wake();
    };
    w.manager.wake();
    await settle();
    assert.equal(w.api.node?.status.daemonEndpoints?.kubeletEndpoint.Port, 2);
    await w.end();
  });

  it("are not accelerated by wakes while the API fails", async () => {
    const w = world();
    await w.start();
    w.api.fault = () => {
      throw new Error("away");
    };
    w.manager.wake();
    await settle();
    const before = w.api.calls.length;
    for (let i = 0; i < 20; i++) {
      w.manager.wake();
      await settle();
    }
    assert.equal(w.api.calls.length, before);
    await w.end();
  });

  it("are retried five times; then connections are closed, and 4 seconds are enough to catch up", async () => {
    let suspected = 0;
    const w = world({ onRepeatedFailure: () => suspected++ });
    await w.start();
    const before = w.api.calls.length;
    w.api.fault = () => {
      throw new Error("away");
    };
    await w.clock.advance(10.5 * second);
    assert.equal(w.api.calls.length - before, 5);
    assert.equal(suspected, 4);
    await w.clock.advance(60 * second);
    w.api.fault = undefined;
    w.nodeState.info = { port: 1 };
    await w.clock.advance(4 * second);
    assert.equal(w.api.node?.status.daemonEndpoints?.kubeletEndpoint.Port, 1);
    await w.end();
  });

  it("are recomputed from the current node after a conflict", async () => {
    const w = world();
    await w.start();
    let conflicts = 1;
    w.api.fault = (call) => {
      if (call === "PATCH" && conflicts-- > 0) {
        w.api.put({ ...w.api.node!, metadata: { ...w.api.node!.metadata, annotations: { by: "other" } } });
        throw new FakeApiError(409, "conflict");
      }
    };
    w.nodeState.info = { port: 1 };
    w.manager.wake();
    await settle();
    assert.equal(w.api.node?.status.daemonEndpoints?.kubeletEndpoint.Port, 1);
    assert.deepEqual(w.api.node?.metadata.annotations, { by: "other" });
    await w.end();
  });

  for (const registerNode of [true, false])
    it(`of a node that does not exist are reported once, with what to do (registerNode ${registerNode})`, async () => {
      const lines: string[] = [];
      const note = (message: string) => void lines.push(message);
      const logger = { ...silentLogger, error: note, warn: note };
      const w = world({ registerNode, logger });
      if (!registerNode) w.api.put(registered());
      await w.start();
      const kept = w.api.node!;
      w.api.node = undefined;
      await w.clock.advance(120 * second);
      const what = registerNode
        ? "Node object was deleted, restart the kubelet to register the node again"
        : "Node object does not exist, create it: this kubelet does not register its node (registerNode)";
      assert.deepEqual(lines, [what]);
      w.api.put(kept);
      await w.clock.advance(10 * second);
      assert.ok(isReady((w.api.node as NodeObject | undefined)?.status.conditions));
      w.api.node = undefined;
      await w.clock.advance(120 * second);
      assert.deepEqual(lines, [what, what], "again, for it was there meanwhile");
      await w.end();
    });

  it("of a deleted node do not create it again; created again by another client it gets its full status", async () => {
    const w = world();
    await w.start();
    w.api.node = undefined;
    await w.clock.advance(60 * second);
    assert.equal(w.api.calls.filter((call) => call === "POST").length, 1);
    w.api.put(registered());
    await w.clock.advance(11 * second);
    const node = w.api.node as NodeObject | undefined;
    assert.ok(isReady(node?.status.conditions));
    assert.equal(node?.metadata.labels?.["kubernetes.io/os"], "linux");
    assert.equal(node?.status.images?.length, 2);
    await w.end();
  });

  it("leave other conditions alone", async () => {
    const w = world();
    await w.start();
    const node = structuredClone(w.api.node!);
    const other = { ...node.status.conditions![0]!, type: "NetworkUnavailable", reason: "RouteCreated" };
    node.status.conditions = [other, ...node.status.conditions!];
    w.api.put(node);
    w.nodeState.notReady = ["x"];
    w.manager.wake();
    await settle();
    assert.deepEqual(w.api.node?.status.conditions?.[0], other);
    await w.end();
  });

  it("survive a clock that is set back by a day, and continue", async () => {
    const clock = new FakeClock();
    const w = world({ clock });
    await w.start();
    clock.jump(-86_400 * second);
    await clock.advance(11 * second);
    assert.equal(w.api.patches.length, 1, "the heartbeats of tomorrow are replaced immediately");
    const beat = w.api.node?.status.conditions?.[0]?.lastHeartbeatTime ?? "";
    assert.ok(wallTime(beat) <= clock.wall());
    await clock.advance(311 * second);
    assert.equal(w.api.patches.length, 2);
    await w.end();
  });

  it("use the watched node instead of a request, unless it is older than our own writes", async () => {
    let stale: NodeObject | undefined;
    const w = world({ cached: () => stale });
    await w.start();
    stale = structuredClone(w.api.node);
    const gets = w.api.calls.filter((call) => call === "GET").length;
    w.nodeState.notReady = ["x"];
    w.manager.wake();
    await settle();
    w.manager.wake();
    await settle();
    assert.equal(w.events.filter((reason) => reason === "NodeNotReady").length, 1);
    assert.equal(w.api.patches.length, 1);
    assert.equal(w.api.calls.filter((call) => call === "GET").length, gets);
    await w.end();
  });
});

describe("data from the Node object", () => {
  it("cordoning is recorded both ways, a reboot once", async () => {
    const w = world();
    w.api.put(
      registered((node) => {
        node.status.nodeInfo = { ...fakeInfo(), bootID: "before" };
      }),
    );
    await w.start();
    w.api.put({ ...w.api.node!, spec: { unschedulable: true } });
    await w.clock.advance(11 * second);
    w.api.put({ ...w.api.node!, spec: {} });
    await w.clock.advance(11 * second);
    w.api.put({
      ...w.api.node!,
      status: { ...w.api.node!.status, nodeInfo: { ...fakeInfo(), bootID: "older" } },
    });
    await w.clock.advance(11 * second);
    assert.deepEqual(
      w.events.filter((reason) => /Schedul|Reboot/.test(reason)),
      ["! Rebooted", "NodeNotSchedulable", "NodeSchedulable"],
    );
    await w.end();
  });

  it("pod CIDRs are passed on when they change, and again if they were rejected", async () => {
    const got: string[] = [];
    const w = world({
      onPodCidrs: async (cidrs) => {
        got.push(cidrs.join(","));
        if (got.length === 1) throw new Error("runtime is away");
      },
    });
    await w.start();
    w.api.put({ ...w.api.node!, spec: { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24", "fd00::/64"] } });
    await w.clock.advance(45 * second);
    assert.deepEqual(got, ["10.0.0.0/24,fd00::/64", "10.0.0.0/24,fd00::/64"]);
    await w.end();
  });

  it("volumes are reported as in use only after they were written to the API", async () => {
    const reported: string[][] = [];
    const w = world({ onVolumesReported: (volumes) => reported.push([...volumes]) });
    await w.start();
    w.nodeState.info = { volumesInUse: ["kubernetes.io/csi/a"] };
    w.api.fault = (call) => {
      if (call === "PATCH") throw new Error("away");
    };
    await w.clock.advance(11 * second);
    assert.deepEqual(reported.at(-1), []);
    w.api.fault = undefined;
    await w.clock.advance(5 * second);
    assert.deepEqual(reported.at(-1), ["kubernetes.io/csi/a"]);
    await w.end();
  });
});

function fakeInfo() {
  return {
    machineID: "",
    systemUUID: "",
    bootID: "",
    kernelVersion: "",
    osImage: "",
    containerRuntimeVersion: "",
    kubeletVersion: "",
    kubeProxyVersion: "",
    operatingSystem: "",
    architecture: "",
  };
}
