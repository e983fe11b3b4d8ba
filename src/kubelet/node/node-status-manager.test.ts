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
function setUp(changes: Partial<NodeStatusOptions> = {}) {
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
        conditions: { pressure: [], notReady: nodeState.notReady },
      }),
    notReady: () => nodeState.notReady,
    registerNode: true,
    getOnExistsOnly: false,
    devices: { isNewNode: () => false },
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
    const env = setUp();
    await env.start();
    assert.deepEqual(env.api.calls, ["POST", "GET"]);
    assert.ok(isReady(env.api.node?.status.conditions));
    assert.deepEqual(env.events, [
      "NodeHasSufficientMemory",
      "NodeHasNoDiskPressure",
      "NodeHasSufficientPID",
    ]);
    await env.manager.whenRegistered(new AbortController().signal);
    await env.end();
  });

  for (const settlesAfterMs of [500, Number.POSITIVE_INFINITY])
    it(`waits until the inputs of its status are known${settlesAfterMs === 500 ? "" : ", 3 seconds at most"}`, async () => {
      const clock = new FakeClock();
      const from = clock.elapsedMs;
      const env = setUp({ clock, isSettled: () => clock.elapsedMs - from >= settlesAfterMs });
      await env.start();
      const waitMs = Math.min(settlesAfterMs, 3000);
      await clock.advance(waitMs - 1);
      assert.deepEqual(env.api.calls, []);
      await clock.advance(1);
      assert.ok(isReady(env.api.node?.status.conditions));
      await env.end();
    });

  it("waits no longer for its info when the clock is set back", async () => {
    const clock = new FakeClock();
    const env = setUp({ clock, isSettled: () => false });
    await env.start();
    await clock.advance(1000);
    clock.jump(-3600 * second);
    await clock.advance(2000);
    assert.ok(isReady(env.api.node?.status.conditions));
    await env.end();
  });

  it("is retried until the API can be reached, at most 4 seconds apart", async () => {
    const env = setUp();
    env.api.fault = () => {
      throw new Error("connection forbidden");
    };
    await env.start();
    await env.clock.advance(60 * second);
    assert.equal(env.api.node, undefined);
    const before = env.api.calls.length;
    assert.ok(before < 25, `${before} attempts`);
    env.api.fault = undefined;
    await env.clock.advance(4 * second);
    assert.ok(isReady((env.api.node as NodeObject | undefined)?.status.conditions));
    await env.end();
  });

  it("is reported by events, whether or not the API server accepts the node", async () => {
    const env = setUp();
    env.api.fault = (call) => {
      if (call === "POST") throw new FakeApiError(500, "etcdserver: request timed out");
    };
    await env.start();
    const conditions = ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"];
    assert.deepEqual(env.events, conditions);
    await env.clock.advance(4 * second);
    const attempts = env.api.calls.length;
    assert.ok(attempts > 1);
    assert.deepEqual(env.events, Array.from({ length: attempts }, () => conditions).flat());
    await env.end();
  });

  it("adopts an existing node: our labels and annotation, never taints", async () => {
    const taints = [{ key: "mine", effect: "NoSchedule" }];
    const env = setUp({ settings: fakeSettings({ taints, labels: { team: "a" } }) });
    env.api.put(
      registered((node) => {
        node.spec = { taints: [{ key: "theirs", effect: "NoExecute" }], providerID: "p" };
        node.metadata.labels = { "node-restriction.kubernetes.io/secret": "x" };
      }),
    );
    await env.start();
    const { metadata, spec, status } = env.api.node!;
    assert.deepEqual(spec, { taints: [{ key: "theirs", effect: "NoExecute" }], providerID: "p" });
    assert.equal(metadata.labels?.["node-restriction.kubernetes.io/secret"], "x");
    assert.equal(metadata.labels?.["kubernetes.io/hostname"], "bench-node");
    assert.equal(metadata.labels?.team, undefined);
    assert.equal(metadata.annotations?.["volumes.kubernetes.io/controller-managed-attach-detach"], "true");
    assert.ok(isReady(status.conditions));
    await env.end();
  });

  // parity: gate KubeletRegistrationGetOnExistsOnly=true as getOnExistsOnly, gate KubeletRegistrationGetOnExistsOnly=false as getOnExistsOnly
  for (const getOnExistsOnly of [false, true])
    it(`where creating is forbidden, an existing node is ${getOnExistsOnly ? "not requested" : "adopted"}`, async () => {
      const env = setUp({ getOnExistsOnly });
      env.api.put(registered());
      env.api.fault = (call) => {
        if (call === "POST") throw new FakeApiError(403, "forbidden");
      };
      await env.start();
      assert.equal(env.api.calls.includes("GET"), !getOnExistsOnly);
      assert.equal(isReady(env.api.node?.status.conditions), !getOnExistsOnly);
      await env.end();
    });

  // parity: field registerNode
  it("is skipped with registerNode off, and the status is still updated", async () => {
    const env = setUp({ registerNode: false });
    await env.start();
    assert.ok(!env.api.calls.includes("POST"));
    env.api.put(registered());
    await env.clock.advance(4 * second);
    assert.ok(isReady(env.api.node?.status.conditions));
    await env.end();
  });

  it("can be awaited until the signal is aborted", async () => {
    const env = setUp();
    const stop = new AbortController();
    const waiting = env.manager.whenRegistered(stop.signal);
    stop.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    await env.start();
    await env.end();
  });
});

describe("the first Ready", () => {
  it("is set as soon as runtime and network are ready", async () => {
    const env = setUp();
    env.nodeState.notReady = notReadyYet;
    await env.start();
    assert.ok(!isReady(env.api.node?.status.conditions));
    await env.clock.advance(2 * second);
    env.nodeState.notReady = [];
    await env.clock.advance(100);
    assert.ok(isReady(env.api.node?.status.conditions));
    assert.equal(env.events.at(-1), "NodeReady");
    await env.end();
  });

  it("is polled quickly for two minutes at most", async () => {
    const env = setUp();
    env.nodeState.notReady = notReadyYet;
    await env.start();
    await env.clock.advance(121 * second);
    assert.equal(env.clock.pending, 1, "only the next round is awaited");
    env.nodeState.notReady = [];
    await env.clock.advance(11 * second);
    assert.ok(isReady(env.api.node?.status.conditions));
    await env.end();
  });

  it("does not send bursts to an API that rejects it", async () => {
    const env = setUp();
    env.nodeState.notReady = notReadyYet;
    await env.start();
    env.nodeState.notReady = [];
    env.api.fault = () => {
      throw new Error("connection refused");
    };
    const before = env.api.calls.length;
    await env.clock.advance(8 * second);
    assert.ok(env.api.calls.length - before <= 15, `${env.api.calls.length - before} calls`);
    await env.end();
  });
});

describe("status updates", () => {
  // parity: field nodeStatusUpdateFrequency as updateFrequencyMs, field nodeStatusReportFrequency as reportFrequencyMs
  it("are written on changes, and otherwise each report period", async () => {
    const env = setUp();
    await env.start();
    await env.clock.advance(290 * second);
    assert.equal(env.api.patches.length, 0);
    env.nodeState.info = { port: 10250 };
    await env.clock.advance(11 * second);
    assert.equal(env.api.patches.length, 1);
    assert.deepEqual(env.api.patches[0]?.status, {
      ...(env.api.patches[0]?.status as object),
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    });
    await env.clock.advance(290 * second);
    assert.equal(env.api.patches.length, 1);
    await env.clock.advance(21 * second);
    assert.equal(env.api.patches.length, 2, "a heartbeat");
    await env.end();
  });

  it("do not repeat a field that the API server does not store, and log it once", async () => {
    const lines: string[] = [];
    const logger = {
      ...silentLogger,
      info: (message: string, { fields }: { fields?: string } = {}) =>
        fields && lines.push(`${message}: ${fields}`),
    } as typeof silentLogger;
    const env = setUp({ logger });
    const put = env.api.put.bind(env.api);
    env.api.put = ({ status: { declaredFeatures: _, ...status }, ...node }) => put({ ...node, status });
    env.nodeState.info = { declaredFeatures: ["GuaranteedQoSPodCPUResize"] };
    await env.start();
    await env.clock.advance(100 * second);
    assert.equal(env.api.patches.length, 1);
    env.nodeState.info = { ...env.nodeState.info, port: 10250 };
    await env.clock.advance(100 * second);
    assert.equal(env.api.patches.length, 2, "another change is written");
    env.nodeState.info = { ...env.nodeState.info, declaredFeatures: ["A"] };
    await env.clock.advance(50 * second);
    assert.equal(env.api.patches.length, 3, "another value is tried");
    assert.deepEqual(lines, ["API server does not store all fields of the node status: declaredFeatures"]);
    await env.end();
  });

  it("do not wait for a tick after a wake-up", async () => {
    const env = setUp();
    await env.start();
    env.nodeState.notReady = ["container runtime is down"];
    env.manager.wake();
    await settle();
    assert.ok(!isReady(env.api.node?.status.conditions));
    assert.equal(env.events.at(-1), "NodeNotReady");
    await env.end();
  });

  it("are repeated immediately when something changes during one", async () => {
    const env = setUp();
    await env.start();
    env.nodeState.info = { port: 1 };
    env.api.fault = (call) => {
      if (call !== "PATCH") return;
      env.api.fault = undefined;
      env.nodeState.info = { port: 2 };
      env.manager.wake();
    };
    env.manager.wake();
    await settle();
    assert.equal(env.api.node?.status.daemonEndpoints?.kubeletEndpoint.Port, 2);
    await env.end();
  });

  it("are not accelerated by wake-ups while the API fails", async () => {
    const env = setUp();
    await env.start();
    env.api.fault = () => {
      throw new Error("connection refused");
    };
    env.manager.wake();
    await settle();
    const before = env.api.calls.length;
    for (let i = 0; i < 20; i++) {
      env.manager.wake();
      await settle();
    }
    assert.equal(env.api.calls.length, before);
    await env.end();
  });

  it("are retried five times; then connections are closed, and 4 seconds are enough to catch up", async () => {
    let repeatedFailures = 0;
    const env = setUp({ onRepeatedFailure: () => repeatedFailures++ });
    await env.start();
    const before = env.api.calls.length;
    env.api.fault = () => {
      throw new Error("connection refused");
    };
    await env.clock.advance(10.5 * second);
    assert.equal(env.api.calls.length - before, 5);
    assert.equal(repeatedFailures, 4);
    await env.clock.advance(60 * second);
    env.api.fault = undefined;
    env.nodeState.info = { port: 1 };
    await env.clock.advance(4 * second);
    assert.equal(env.api.node?.status.daemonEndpoints?.kubeletEndpoint.Port, 1);
    await env.end();
  });

  it("are recomputed from the current node after a conflict", async () => {
    const env = setUp();
    await env.start();
    let conflicts = 1;
    env.api.fault = (call) => {
      if (call === "PATCH" && conflicts-- > 0) {
        env.api.put({
          ...env.api.node!,
          metadata: { ...env.api.node!.metadata, annotations: { by: "other" } },
        });
        throw new FakeApiError(409, "conflict");
      }
    };
    env.nodeState.info = { port: 1 };
    env.manager.wake();
    await settle();
    assert.equal(env.api.node?.status.daemonEndpoints?.kubeletEndpoint.Port, 1);
    assert.deepEqual(env.api.node?.metadata.annotations, { by: "other" });
    await env.end();
  });

  for (const registerNode of [true, false])
    it(`are reported once as impossible, with the remedy, if the node does not exist (registerNode ${registerNode})`, async () => {
      const lines: string[] = [];
      const note = (message: string) => void lines.push(message);
      const logger = { ...silentLogger, error: note, warn: note };
      const env = setUp({ registerNode, logger });
      if (!registerNode) env.api.put(registered());
      await env.start();
      const kept = env.api.node!;
      env.api.node = undefined;
      await env.clock.advance(120 * second);
      const what = registerNode
        ? "Node object was deleted, restart the kubelet to register the node again"
        : "Node object does not exist, create it: this kubelet does not register its node (registerNode)";
      assert.deepEqual(lines, [what]);
      env.api.put(kept);
      await env.clock.advance(10 * second);
      assert.ok(isReady((env.api.node as NodeObject | undefined)?.status.conditions));
      env.api.node = undefined;
      await env.clock.advance(120 * second);
      assert.deepEqual(lines, [what, what], "reported again, because it existed in the meantime");
      await env.end();
    });

  it("do not recreate a deleted node; one that another client recreates gets its full status", async () => {
    const env = setUp();
    await env.start();
    env.api.node = undefined;
    await env.clock.advance(60 * second);
    assert.equal(env.api.calls.filter((call) => call === "POST").length, 1);
    env.api.put(registered());
    await env.clock.advance(11 * second);
    const node = env.api.node as NodeObject | undefined;
    assert.ok(isReady(node?.status.conditions));
    assert.equal(node?.metadata.labels?.["kubernetes.io/os"], "linux");
    assert.equal(node?.status.images?.length, 2);
    await env.end();
  });

  it("leave other conditions alone", async () => {
    const env = setUp();
    await env.start();
    const node = structuredClone(env.api.node!);
    const other = { ...node.status.conditions![0]!, type: "NetworkUnavailable", reason: "RouteCreated" };
    node.status.conditions = [other, ...node.status.conditions!];
    env.api.put(node);
    env.nodeState.notReady = ["x"];
    env.manager.wake();
    await settle();
    assert.deepEqual(env.api.node?.status.conditions?.[0], other);
    await env.end();
  });

  it("survive a clock that is set back by a day, and continue", async () => {
    const clock = new FakeClock();
    const env = setUp({ clock });
    await env.start();
    clock.jump(-86_400 * second);
    await clock.advance(11 * second);
    assert.equal(env.api.patches.length, 1, "the heartbeats of tomorrow are replaced immediately");
    const heartbeat = env.api.node?.status.conditions?.[0]?.lastHeartbeatTime ?? "";
    assert.ok(wallTime(heartbeat) <= clock.wall());
    await clock.advance(311 * second);
    assert.equal(env.api.patches.length, 2);
    await env.end();
  });

  it("use the watched node instead of a request, unless it is older than our own writes", async () => {
    let stale: NodeObject | undefined;
    const env = setUp({ view: { node: () => stale } });
    await env.start();
    stale = structuredClone(env.api.node);
    const gets = env.api.calls.filter((call) => call === "GET").length;
    env.nodeState.notReady = ["x"];
    env.manager.wake();
    await settle();
    env.manager.wake();
    await settle();
    assert.equal(env.events.filter((reason) => reason === "NodeNotReady").length, 1);
    assert.equal(env.api.patches.length, 1);
    assert.equal(env.api.calls.filter((call) => call === "GET").length, gets);
    await env.end();
  });
});

describe("data from the Node object", () => {
  it("cordoning is recorded both ways, a reboot once", async () => {
    const env = setUp();
    env.api.put(
      registered((node) => {
        node.status.nodeInfo = { ...fakeInfo(), bootID: "before" };
      }),
    );
    await env.start();
    env.api.put({ ...env.api.node!, spec: { unschedulable: true } });
    await env.clock.advance(11 * second);
    env.api.put({ ...env.api.node!, spec: {} });
    await env.clock.advance(11 * second);
    env.api.put({
      ...env.api.node!,
      status: { ...env.api.node!.status, nodeInfo: { ...fakeInfo(), bootID: "older" } },
    });
    await env.clock.advance(11 * second);
    assert.deepEqual(
      env.events.filter((reason) => /Schedul|Reboot/.test(reason)),
      ["! Rebooted", "NodeNotSchedulable", "NodeSchedulable"],
    );
    await env.end();
  });

  it("pod CIDRs are passed on when they change, and again if they were rejected", async () => {
    const got: string[] = [];
    const env = setUp({
      onPodCidrs: async (cidrs) => {
        got.push(cidrs.join(","));
        if (got.length === 1) throw new Error("runtime is unavailable");
      },
    });
    await env.start();
    env.api.put({
      ...env.api.node!,
      spec: { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24", "fd00::/64"] },
    });
    await env.clock.advance(45 * second);
    assert.deepEqual(got, ["10.0.0.0/24,fd00::/64", "10.0.0.0/24,fd00::/64"]);
    await env.end();
  });

  it("volumes are reported as in use only after they were written to the API", async () => {
    const reported: string[][] = [];
    const env = setUp({ onVolumesReported: (volumes) => reported.push([...volumes]) });
    await env.start();
    env.nodeState.info = { volumesInUse: ["kubernetes.io/csi/a"] };
    env.api.fault = (call) => {
      if (call === "PATCH") throw new Error("connection refused");
    };
    await env.clock.advance(11 * second);
    assert.deepEqual(reported.at(-1), []);
    env.api.fault = undefined;
    await env.clock.advance(5 * second);
    assert.deepEqual(reported.at(-1), ["kubernetes.io/csi/a"]);
    await env.end();
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
