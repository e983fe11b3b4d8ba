import type { ContainerId } from "../../src/lib/clients/cri/cri.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { containerHash } from "../../src/lib/model/container-hash.ts";
import { annotationContainerHash } from "../../src/lib/model/labels.ts";
import type { Container, Pod, PodUid } from "../../src/lib/model/pod.ts";
import type { FakeContainer } from "../fake-runtime/pod-records.ts";
import type { PodLifecycleHarness, Wanted } from "./pod-lifecycle-harness.ts";
import { mayFollow, nameOf, uidOf } from "./pod-lifecycle-rules.ts";

/** Differences from the desired state after everything has settled. */
export function unsettled(harness: PodLifecycleHarness): string[] {
  const wrong: string[] = [];
  for (const wanted of harness.wanted.values())
    for (const what of unsettledOf(harness, wanted)) wrong.push(`${wanted.uid}: ${what}`);
  const uids = new Set<string>([...harness.wanted.values()].map((w) => w.uid));
  for (const s of harness.runtime.pods.sandboxes.values()) {
    const uid = s.config.metadata!.uid;
    if (!uids.has(uid)) wrong.push(`${uid}: there is a sandbox that is not desired`);
  }
  return wrong;
}

/** What remains of pods when none is desired. */
export function orphans({ runtime, host, agent, uids, hooks, health }: PodLifecycleHarness): string[] {
  const counts: Record<string, number> = {
    sandboxes: runtime.pods.sandboxes.size,
    containers: runtime.pods.containers.size,
    cgroups: host.cgroups.size,
    dirs: host.files.dirs.size,
    statuses: [...uids].filter((uid) => agent?.statuses.get(uid)).length,
    "hooks in progress": hooks.inProgress,
    "probes in progress": health.inProgress,
    ...agent?.remembered,
  };
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`);
}

function unsettledOf(harness: PodLifecycleHarness, wanted: Wanted): string[] {
  const { kind, uid, pod, evicted } = wanted;
  const { agent } = harness;
  const wrong: string[] = [];
  if (pod.metadata.deletionTimestamp) return ["it is still being deleted"];
  const phase = agent?.phaseOf(uid) ?? "none";
  const sandboxes = [...harness.runtime.pods.sandboxes.values()].filter(
    (s) => s.config.metadata!.uid === uid,
  );
  const ready = sandboxes.filter((s) => s.state === PodSandboxState.SANDBOX_READY);
  const running = harness.running().filter((c) => uidOf(c) === uid);
  const failsFor = kind === "limited" || kind === "rejected" || evicted;
  if (failsFor && phase !== "Failed") wrong.push(`its phase is ${phase}, not Failed`);
  if (kind === "rejected" && sandboxes.length > 0) wrong.push("it was rejected and has a sandbox");
  if (phase === "Succeeded" || phase === "Failed") {
    if (running.length > 0) wrong.push(`it is ${phase}, and ${nameOf(running[0]!)} runs`);
    if (ready.length > 0) wrong.push(`it is ${phase}, and its sandbox is ready`);
    const ending = agent?.workers.get(uid)?.phase;
    if (ending !== "terminated") wrong.push(`it is ${phase}, and its worker is ${ending}`);
    for (const container of pod.spec.containers) {
      const last = newest(harness, uid, container.name);
      if (failsFor || !last || harness.rules.isMeddledWith(uid)) continue;
      if (!mayRest(pod, container, last)) wrong.push(`it is ${phase}, and ${container.name} is to run again`);
    }
    if (runsForEver(wanted) && !failsFor) wrong.push(`it is ${phase}, and runs for ever`);
    return wrong;
  }
  if (kind === "crashing") return wrong;
  if (phase !== "Running") wrong.push(`its phase is ${phase}`);
  if (ready.length !== 1) wrong.push(`${ready.length} sandboxes are ready`);
  let left = 0;
  for (const container of [
    ...(pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === "Always"),
    ...pod.spec.containers,
  ]) {
    const runs = running.find((c) => nameOf(c) === container.name);
    const last = newest(harness, uid, container.name);
    if (runs) {
      if (/^(once|flaky|coded)/.test(container.name)) wrong.push(`${container.name} is still at work`);
      wrong.push(...unwell(harness, wanted, container, runs));
      left += pod.spec.containers.includes(container) ? 1 : 0;
      if (runs.config.annotations[annotationContainerHash] !== containerHash(container))
        wrong.push(`${container.name} runs as it was defined before`);
    } else if (!last || !mayRest(pod, container, last)) wrong.push(`${container.name} does not run`);
  }
  if (left === 0) wrong.push("all is done, and it is not reported");
  for (const { name } of pod.spec.ephemeralContainers ?? [])
    if (!harness.rules.wasDebugged(uid, name)) wrong.push(`${name} was never started`);
  return wrong;
}

/** Without faults, running containers are started and ready. */
function unwell(
  harness: PodLifecycleHarness,
  { uid }: Wanted,
  { name }: Container,
  runs: FakeContainer,
): string[] {
  const status = harness.agent?.statuses.get(uid);
  const reported = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(
    (c) => c.name === name,
  );
  const wrong: string[] = [];
  if (!reported?.state?.running) wrong.push(`${name} runs, and it is not reported`);
  if (!reported?.started) wrong.push(`${name} is not reported as started`);
  if (!reported?.ready) wrong.push(`${name} is not reported as ready`);
  for (const kind of ["liveness", "startup"] as const)
    if (harness.agent?.probes.get(kind, runs.id as ContainerId) === "failure")
      wrong.push(`${name} runs, and its ${kind} probe failed`);
  return wrong;
}

/** It has a container that is always restarted, and is reached. */
function runsForEver({ kind, pod }: Wanted): boolean {
  return kind !== "ownFailedInit" && pod.spec.containers.some((c) => mayFollow(pod, c, 0));
}

function newest(harness: PodLifecycleHarness, uid: PodUid, name: string): FakeContainer | undefined {
  return [...harness.runtime.pods.containers.values()]
    .filter((c) => uidOf(c) === uid && nameOf(c) === name)
    .sort((a, b) => b.config.metadata!.attempt - a.config.metadata!.attempt)[0];
}

function mayRest(pod: Pod, container: Container, last: FakeContainer): boolean {
  return last.state === ContainerState.CONTAINER_EXITED && !mayFollow(pod, container, last.exitCode);
}
