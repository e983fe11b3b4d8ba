import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
} from "../../../../test/builders/pods.ts";
import { monotonicTime } from "../../../lib/base/fake-clock.ts";
import { wallTime } from "../../../lib/base/time.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import { PodStatuses } from "../../state/pod-statuses.ts";
import { ProbeResults } from "../../state/probe-results.ts";
import { at, iso, statusOf } from "./fake-input.ts";
import { type StatusDetails, StatusManager } from "./status-manager.ts";

const details: StatusDetails = { waiting: new Map(), workerPhase: "syncing" };
const run = (more: Partial<ObservedContainer> = {}) =>
  anObservedContainer("a", { startedAt: wallTime(at), ...more });
const exitedWith = (exitCode: number) => run({ state: "exited", exitCode });
const { uid } = aPod().metadata;

function setUp() {
  const clock = {
    time: at,
    wall: () => wallTime(clock.time),
    monotonic: () => monotonicTime(clock.time),
    after: () => () => {},
  };
  const state: { observed: ObservedPod | undefined; knows: boolean } = { observed: undefined, knows: true };
  const changes: string[] = [];
  const errors: unknown[] = [];
  const probes = new ProbeResults();
  const logger = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (_: string, fields?: Record<string, unknown>) => errors.push(fields?.err),
  };
  const statuses = new PodStatuses();
  const manager = new StatusManager({
    statuses,
    clock,
    observed: { get: () => state.observed, knows: () => state.knows },
    probes,
    hostIPs: () => [],
    runtimeName: () => "containerd",
    onChange: (changed) => changes.push(changed),
    logger: logger as never,
  });
  return { clock, statuses, manager, changes, state, probes, errors };
}

test("only changes are reported", () => {
  const { clock, statuses, changes, state, manager } = setUp();
  const pod = aPod();
  manager.refresh(pod, details);
  clock.time += 1000;
  manager.refresh(pod, details);
  assert.equal(changes.length, 1);
  state.observed = anObservedPod([run()]);
  manager.refresh(pod, details);
  assert.equal(changes.length, 2);
  manager.forget(uid);
  manager.forget(uid);
  assert.equal(changes.length, 3);
  assert.deepEqual([statuses.get(uid), statuses.activeSince(uid)], [undefined, undefined]);
});

test("the start time is when the pod is first seen; after a restart of the agent it is active since its oldest sandbox", () => {
  const first = setUp();
  first.manager.refresh(aPod(), details);
  first.clock.time += 60_000;
  first.manager.refresh(aPod(), details);
  assert.equal(first.statuses.get(uid)?.startTime, iso(wallTime(at)));
  assert.equal(first.statuses.activeSince(uid), at);

  const second = setUp();
  second.state.observed = anObservedPod(
    [run()],
    [aSandbox({ createdAt: wallTime(at - 5000) }), aSandbox({ createdAt: wallTime(at - 60_000) })],
  );
  second.manager.refresh(aPod(), details);
  assert.equal(second.statuses.activeSince(uid), at - 60_000);
  assert.equal(second.statuses.get(uid)?.startTime, iso(wallTime(at)), "a static pod without a known status");
  second.manager.forget(uid);
  second.manager.refresh(aPod({}, { annotations: {} }), details);
  assert.equal(second.statuses.get(uid)?.startTime, iso(wallTime(at - 60_000)), "a pod of the API");
});

for (const when of ["with the first status", "later"] as const)
  test(`unchanged conditions get the times of a mirror that is known ${when}`, () => {
    const pod = aPod({ containers: [aContainer("a", { readinessProbe: {} })] });
    const then = at - 90_000;
    const ready = { probe: () => "success" as const };
    const mirror = statusOf(pod, anObservedPod([run()]), {
      ...ready,
      startTime: wallTime(then),
      now: wallTime(then),
      hostIPs: [],
    });
    const { statuses, state, probes, changes, manager } = setUp();
    probes.set({ uid, id: "a-0" as ContainerId, kind: "readiness", outcome: "success" });
    state.observed = anObservedPod([run()]);
    manager.refresh(pod, when === "later" ? details : { ...details, mirror });
    if (when === "later") manager.refresh(pod, { ...details, mirror });
    assert.deepEqual(statuses.get(uid), mirror);
    assert.equal(statuses.activeSince(uid), then);
    manager.refresh(pod, { ...details, mirror: { ...mirror, startTime: iso(wallTime(at)) } });
    assert.deepEqual(statuses.get(uid), mirror, "once");
    assert.equal(changes.length, when === "later" ? 2 : 1);
    const failed = { ...mirror, phase: "Failed" };
    manager.forget(uid);
    manager.refresh(pod, { ...details, mirror: failed });
    assert.equal(statuses.get(uid)?.phase, "Running", "only its times");
  });

test("after a restart of the agent the previous status is kept until a probe has a result", () => {
  const pod = aPod({ containers: [aContainer("a", { startupProbe: {}, readinessProbe: {} })] });
  const ready = { probe: () => "success" as const };
  const previous = statusOf(pod, anObservedPod([run()]), {
    ...ready,
    startTime: wallTime(at - 90_000),
    hostIPs: [],
  });
  const { statuses, state, probes, manager } = setUp();
  state.observed = anObservedPod([run()]);
  manager.refresh(pod, { ...details, previous });
  assert.deepEqual(statuses.get(uid), previous, "nothing has changed");
  const id = "a-0" as ContainerId;
  probes.set({ uid, id, kind: "readiness", outcome: "unknown" });
  manager.refresh(pod, details);
  assert.deepEqual(statuses.get(uid), previous, "an unknown probe result does not count");
  probes.set({ uid, id, kind: "readiness", outcome: "failure" });
  manager.refresh(pod, details);
  assert.equal(statuses.get(uid)?.containerStatuses?.[0]?.ready, false);
});

test("the status of a pod from the API is its previous status, that in a manifest is not", () => {
  const { statuses, manager } = setUp();
  const status = { phase: "Failed", startTime: iso(wallTime(at - 90_000)) };
  manager.refresh({ ...aPod({}, { annotations: {} }), status }, details);
  assert.deepEqual([statuses.get(uid)?.phase, statuses.activeSince(uid)], ["Failed", at - 90_000]);
  manager.forget(uid);
  manager.refresh({ ...aPod(), status }, details);
  assert.deepEqual([statuses.get(uid)?.phase, statuses.activeSince(uid)], ["Pending", at]);
});

test("before the first relist a status is not changed, and a pod without one gets none", () => {
  const { statuses, state, changes, manager } = setUp();
  const pod = aPod({ restartPolicy: "Never" });
  state.knows = false;
  manager.refresh(pod, details);
  assert.equal(statuses.get(uid), undefined);
  const previous = statusOf(pod, anObservedPod([run()]), { hostIPs: [] });
  manager.refresh(pod, { ...details, previous });
  assert.deepEqual([statuses.get(uid), statuses.activeSince(uid), changes], [previous, at, []]);
  state.knows = true;
  state.observed = anObservedPod([run()]);
  manager.refresh(pod, details);
  assert.deepEqual([statuses.get(uid), changes], [previous, []]);
});

test("a pod that had ended when the agent started has the resources of its spec, before and after the first relist", () => {
  const { statuses, manager, state } = setUp();
  const containers = [aContainer("a", { resources: { requests: { cpu: "1" } } })];
  const pod: Pod = {
    ...aPod({ restartPolicy: "Never", containers }),
    status: { phase: "Succeeded", resources: { requests: { cpu: "7" } } },
  };
  pod.metadata.annotations = {};
  state.knows = false;
  manager.refresh(pod, details);
  state.knows = true;
  for (const _ of ["first", "second"]) {
    manager.refresh(pod, { ...details, workerPhase: "terminated" });
    assert.deepEqual(statuses.get(uid)?.resources, { requests: { cpu: "1" } });
  }
});

test("an invalid transition of a terminated container is rejected: the status is not changed", () => {
  const { statuses, state, errors, manager } = setUp();
  const pod = aPod({ restartPolicy: "OnFailure", containers: [aContainer("a"), aContainer("b")] });
  state.observed = anObservedPod([exitedWith(0), anObservedContainer("b")]);
  manager.refresh(pod, details);
  const previous = statuses.get(uid);
  state.observed = anObservedPod([run({ attempt: 1 }), exitedWith(0), anObservedContainer("b")]);
  manager.refresh(pod, details);
  manager.refresh(pod, details);
  assert.equal(statuses.get(uid), previous);
  assert.deepEqual(
    errors,
    ["terminated container a attempted illegal transition to non-terminated state"],
    "logged once, not with each refresh",
  );
  state.observed = anObservedPod([exitedWith(0), anObservedContainer("b", { state: "exited", exitCode: 1 })]);
  manager.refresh(pod, details);
  state.observed = anObservedPod([exitedWith(0), anObservedContainer("b", { attempt: 1 })]);
  manager.refresh(pod, details);
  assert.equal(errors.length, 1, "a failed one may be restarted");
});

test("an invalid transition of a terminated init container is rejected with restartPolicy Never", () => {
  const { state, errors, manager } = setUp();
  const pod = aPod({ restartPolicy: "Never", initContainers: [aContainer("i")] });
  state.observed = anObservedPod([anObservedContainer("i", { state: "exited" })]);
  manager.refresh(pod, details);
  state.observed = anObservedPod([anObservedContainer("i", { attempt: 1 })]);
  manager.refresh(pod, details);
  assert.deepEqual(errors, [
    "terminated init container i attempted illegal transition to non-terminated state",
  ]);
});
