import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { aPod, seen, seenContainer } from "../../../../test/builders/pods.ts";
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
import { ProbeResults } from "../../state/probe-results.ts";
import { at } from "./fake-input.ts";
import { StatusManager } from "./status-manager.ts";
import { createStatusMetrics, newEnds } from "./status-metrics.ts";

const is = (state: ContainerState, lastState?: ContainerState): ContainerStatus =>
  ({ name: "a", state, ...(lastState ? { lastState } : {}) }) as ContainerStatus;
const end = (id: string, exitCode = 1): ContainerState => ({
  terminated: { exitCode, reason: "Error", containerID: id },
});
const running: ContainerState = { running: {} };
const waiting: ContainerState = { waiting: { reason: "CrashLoopBackOff" } };

describe("newEnds", () => {
  const rows: [rule: string, before: ContainerStatus | undefined, after: ContainerStatus, ends: number][] = [
    ["one that ran has ended", is(running), is(end("1")), 1],
    ["one that was not known has ended", undefined, is(end("1")), 1],
    ["one that had ended has not again", is(end("1")), is(end("1")), 0],
    ["one that waits has ended before", is(end("1")), is(waiting, end("1")), 0],
    ["one that waited and shows its end again has not again", is(waiting, end("1")), is(end("1")), 0],
    ["the next one of a name has ended", is(running, end("1")), is(end("2")), 1],
    ["an end without an id may be another one", is(waiting, end("")), is(end("")), 1],
  ];
  for (const [rule, before, after, count] of rows)
    it(rule, () => {
      const status = (s: ContainerStatus | undefined): PodStatus => ({ containerStatuses: s ? [s] : [] });
      assert.equal(newEnds(before && status(before), status(after)).length, count);
    });

  it("knows the type of a container by its list, and each list by itself", () => {
    const after: PodStatus = {
      initContainerStatuses: [is(end("1", 0))],
      containerStatuses: [is(end("2", 137))],
      ephemeralContainerStatuses: [is(end("3", 2))],
    };
    const before: PodStatus = { initContainerStatuses: [is(end("1", 0))] };
    assert.deepEqual(
      newEnds(before, after).map((e) => `${e.type} ${e.exitCode} ${e.reason}`),
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
    const world: { observed: ObservedPod | undefined; now: number } = { observed: undefined, now: at };
    const statuses = new StatusManager({
      clock: {
        wall: () => wallTime(world.now),
        monotonic: () => monotonicTime(world.now),
        after: () => () => {},
      },
      observed: { get: () => world.observed },
      probes: new ProbeResults(),
      hostIPs: () => [],
      runtimeName: () => "containerd",
      onChange: () => {},
      metrics: createStatusMetrics(metrics),
    });
    const show = (containers: Parameters<typeof seen>[0] | undefined, meta: object = { annotations }) => {
      world.observed = containers && seen(containers);
      statuses.refresh(aPod({}, meta), { waiting: new Map(), workerPhase: "syncing" });
    };
    return {
      world,
      show,
      ends: () => metricValues(metrics, "kubelet_terminated_containers_total"),
      starts: () => metricValues(metrics, "kubelet_pod_start_duration_seconds"),
    };
  }

  it("counts each end of a container once", async () => {
    const { show, ends } = setUp();
    const dead = (attempt: number) => seenContainer("a", { state: "exited", exitCode: 3, attempt });
    show([seenContainer("a")]);
    assert.deepEqual(await ends(), {});
    show([dead(0)]);
    show([dead(0)]);
    show([seenContainer("a", { attempt: 1 }), dead(0)]);
    const key = "container_type=container,exit_code=3,reason=Error";
    assert.deepEqual(await ends(), { [key]: 1 });
    show([dead(1), dead(0)]);
    assert.deepEqual(await ends(), { [key]: 2 });
  });

  it("measures how long a pod took to run since it was first seen, once", async () => {
    const { show, starts, world } = setUp();
    show(undefined);
    world.now += 2500;
    show([seenContainer("a")]);
    world.now += 1000;
    show([seenContainer("a")]);
    assert.deepEqual(await starts(), { count: 1, sum: 2.5 });
  });

  it("measures nothing for a pod that ran before it was seen, or of which nobody knows when it was seen", async () => {
    const { show, starts } = setUp();
    show([seenContainer("a")]);
    assert.deepEqual(await starts(), {});
    const other = setUp();
    other.show(undefined, {});
    other.show([seenContainer("a")], {});
    assert.deepEqual(await other.starts(), {});
  });
});
