import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { anObservedContainer, anObservedPod, aPod } from "../../../../test/builders/pods.ts";
import { monotonicTime } from "../../../lib/base/fake-clock.ts";
import { metricValues } from "../../../lib/base/fixtures.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { wallTime } from "../../../lib/base/time.ts";
import {
  annotationSeen,
  type ContainerState,
  type ContainerStatus,
  type PodStatus,
} from "../../../lib/model/pod.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { PodStatuses } from "../../state/pod-statuses.ts";
import { ProbeResults } from "../../state/probe-results.ts";
import { at } from "./fake-input.ts";
import { StatusManager } from "./status-manager.ts";
import { createStatusMetrics, newTerminations } from "./status-metrics.ts";

const is = (state: ContainerState, lastState?: ContainerState): ContainerStatus =>
  ({ name: "a", state, ...(lastState ? { lastState } : {}) }) as ContainerStatus;
const end = (id: string, exitCode = 1): ContainerState => ({
  terminated: { exitCode, reason: "Error", containerID: id },
});
const running: ContainerState = { running: {} };
const waiting: ContainerState = { waiting: { reason: "CrashLoopBackOff" } };

describe("newTerminations", () => {
  const rows: [rule: string, before: ContainerStatus | undefined, after: ContainerStatus, ends: number][] = [
    ["a running container terminated", is(running), is(end("1")), 1],
    ["an unknown container terminated", undefined, is(end("1")), 1],
    ["a terminated container does not count again", is(end("1")), is(end("1")), 0],
    ["a waiting container terminated before", is(end("1")), is(waiting, end("1")), 0],
    [
      "a waiting container whose termination is reported again does not count again",
      is(waiting, end("1")),
      is(end("1")),
      0,
    ],
    ["the next container of a name terminated", is(running, end("1")), is(end("2")), 1],
    ["a termination without an ID is counted", is(waiting, end("")), is(end("")), 1],
  ];
  for (const [rule, before, after, count] of rows)
    it(rule, () => {
      const status = (s: ContainerStatus | undefined): PodStatus => ({ containerStatuses: s ? [s] : [] });
      assert.equal(newTerminations(before && status(before), status(after)).length, count);
    });

  it("has the container type of each status list", () => {
    const after: PodStatus = {
      initContainerStatuses: [is(end("1", 0))],
      containerStatuses: [is(end("2", 137))],
      ephemeralContainerStatuses: [is(end("3", 2))],
    };
    const before: PodStatus = { initContainerStatuses: [is(end("1", 0))] };
    assert.deepEqual(
      newTerminations(before, after).map((e) => `${e.type} ${e.exitCode} ${e.reason}`),
      ["container 137 Error", "ephemeral_container 2 Error"],
    );
  });
});

describe("the status manager", () => {
  const annotations = {
    "kubernetes.io/config.source": "file",
    [annotationSeen]: new Date(at).toISOString(),
  };

  function setUp() {
    const metrics = createMetrics();
    const state: { observed: ObservedPod | undefined; now: number } = { observed: undefined, now: at };
    const statuses = new StatusManager({
      statuses: new PodStatuses(),
      clock: {
        wall: () => wallTime(state.now),
        monotonic: () => monotonicTime(state.now),
        after: () => () => {},
      },
      observed: { get: () => state.observed },
      probes: new ProbeResults(),
      hostIPs: () => [],
      runtimeName: () => "containerd",
      onChange: () => {},
      metrics: createStatusMetrics(metrics),
    });
    const observe = (
      containers: Parameters<typeof anObservedPod>[0] | undefined,
      meta: object = { annotations },
    ) => {
      state.observed = containers && anObservedPod(containers);
      statuses.refresh(aPod({}, meta), { waiting: new Map(), workerPhase: "syncing" });
    };
    return {
      state,
      observe,
      ends: () => metricValues(metrics, "kubelet_terminated_containers_total"),
      starts: () => metricValues(metrics, "kubelet_pod_start_duration_seconds"),
    };
  }

  // parity: metric /metrics kubelet_terminated_containers_total
  it("counts each termination of a container once", async () => {
    const { observe, ends } = setUp();
    const dead = (attempt: number) => anObservedContainer("a", { state: "exited", exitCode: 3, attempt });
    observe([anObservedContainer("a")]);
    assert.deepEqual(await ends(), {});
    observe([dead(0)]);
    observe([dead(0)]);
    observe([anObservedContainer("a", { attempt: 1 }), dead(0)]);
    const key = "container_type=container,exit_code=3,reason=Error";
    assert.deepEqual(await ends(), { [key]: 1 });
    observe([dead(1), dead(0)]);
    assert.deepEqual(await ends(), { [key]: 2 });
  });

  // parity: metric /metrics kubelet_pod_start_duration_seconds
  it("measures the time from when a pod was first seen to when it runs, once", async () => {
    const { observe, starts, state } = setUp();
    observe(undefined);
    state.now += 2500;
    observe([anObservedContainer("a")]);
    state.now += 1000;
    observe([anObservedContainer("a")]);
    assert.deepEqual(await starts(), { count: 1, sum: 2.5 });
  });

  it("measures nothing for a pod that ran before it was seen, or without the time when it was seen", async () => {
    const { observe, starts } = setUp();
    observe([anObservedContainer("a")]);
    assert.deepEqual(await starts(), {});
    const other = setUp();
    other.observe(undefined, {});
    other.observe([anObservedContainer("a")], {});
    assert.deepEqual(await other.starts(), {});
  });
});
