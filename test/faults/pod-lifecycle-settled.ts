import type { ContainerId } from "../../src/lib/clients/cri/cri.ts";
import { ContainerState, PodSandboxState } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { containerHash } from "../../src/lib/model/container-hash.ts";
import { annotationContainerHash } from "../../src/lib/model/labels.ts";
import type { Container, Pod, PodUid } from "../../src/lib/model/pod.ts";
import type { FakeContainer } from "../fake-runtime/pod-records.ts";
import type { DesiredPod, PodLifecycleHarness } from "./pod-lifecycle-harness.ts";
import { isRestarted, nameOf, uidOf } from "./pod-lifecycle-rules.ts";

/** Differences from the desired state after everything has settled. */
export function unsettled(harness: PodLifecycleHarness): string[] {
  const problems: string[] = [];
  for (const desired of harness.desired.values())
    for (const what of unsettledPod(harness, desired)) problems.push(`${desired.uid}: ${what}`);
  const uids = new Set<string>([...harness.desired.values()].map((w) => w.uid));
  for (const s of harness.runtime.pods.sandboxes.values()) {
    const uid = s.config.metadata!.uid;
    if (!uids.has(uid)) problems.push(`${uid}: has a sandbox, but is not desired`);
  }
  return problems;
}

/** Resources of pods that remain when none is desired. */
export function orphans({ runtime, host, agent, uids, hooks, health }: PodLifecycleHarness): string[] {
  const counts: Record<string, number> = {
    sandboxes: runtime.pods.sandboxes.size,
    containers: runtime.pods.containers.size,
    cgroups: host.cgroups.size,
    dirs: host.files.dirs.size,
    statuses: [...uids].filter((uid) => agent?.statuses.get(uid)).length,
    "hooks in progress": hooks.inProgress,
    "probes in progress": health.inProgress,
    ...agent?.stateCounts,
  };
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`);
}

function unsettledPod(harness: PodLifecycleHarness, desired: DesiredPod): string[] {
  const { kind, uid, pod, evicted } = desired;
  const { agent } = harness;
  const problems: string[] = [];
  if (pod.metadata.deletionTimestamp) return ["is still being deleted"];
  const phase = agent?.phaseOf(uid) ?? "none";
  const sandboxes = [...harness.runtime.pods.sandboxes.values()].filter(
    (s) => s.config.metadata!.uid === uid,
  );
  const ready = sandboxes.filter((s) => s.state === PodSandboxState.SANDBOX_READY);
  const running = harness.running().filter((c) => uidOf(c) === uid);
  const mustFail = kind === "withDeadline" || kind === "rejected" || evicted;
  if (mustFail && phase !== "Failed") problems.push(`has phase ${phase}, not Failed`);
  if (kind === "rejected" && sandboxes.length > 0) problems.push("was rejected, but has a sandbox");
  if (phase === "Succeeded" || phase === "Failed") {
    if (running.length > 0) problems.push(`is ${phase}, but ${nameOf(running[0]!)} runs`);
    if (ready.length > 0) problems.push(`is ${phase}, but its sandbox is ready`);
    const workerPhase = agent?.workers.get(uid)?.phase;
    if (workerPhase !== "terminated") problems.push(`is ${phase}, but its worker is ${workerPhase}`);
    for (const container of pod.spec.containers) {
      const last = newest(harness, uid, container.name);
      if (mustFail || !last || harness.rules.isDisturbed(uid)) continue;
      if (!isFinished(pod, container, last))
        problems.push(`is ${phase}, but ${container.name} must be restarted`);
    }
    if (runsForever(desired) && !mustFail)
      problems.push(`is ${phase}, but has a container that runs forever`);
    return problems;
  }
  if (kind === "crashing") return problems;
  if (phase !== "Running") problems.push(`has phase ${phase}`);
  if (ready.length !== 1) problems.push(`has ${ready.length} ready sandboxes`);
  let left = 0;
  for (const container of [
    ...(pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === "Always"),
    ...pod.spec.containers,
  ]) {
    const runs = running.find((c) => nameOf(c) === container.name);
    const last = newest(harness, uid, container.name);
    if (runs) {
      if (/^(once|flaky|coded)/.test(container.name)) problems.push(`${container.name} is still running`);
      problems.push(...unhealthy(harness, desired, container, runs));
      left += pod.spec.containers.includes(container) ? 1 : 0;
      if (runs.config.annotations[annotationContainerHash] !== containerHash(container))
        problems.push(`${container.name} runs with an outdated definition`);
    } else if (!last || !isFinished(pod, container, last)) problems.push(`${container.name} does not run`);
  }
  if (left === 0) problems.push("has no container left to run, but is not completed");
  for (const { name } of pod.spec.ephemeralContainers ?? [])
    if (!harness.rules.wasStarted(uid, name)) problems.push(`${name} was never started`);
  return problems;
}

/** Without faults, running containers are started and ready. */
function unhealthy(
  harness: PodLifecycleHarness,
  { uid }: DesiredPod,
  { name }: Container,
  runs: FakeContainer,
): string[] {
  const status = harness.agent?.statuses.get(uid);
  const reported = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(
    (c) => c.name === name,
  );
  const problems: string[] = [];
  if (!reported?.state?.running) problems.push(`${name} runs, but is not reported as running`);
  if (!reported?.started) problems.push(`${name} is not reported as started`);
  if (!reported?.ready) problems.push(`${name} is not reported as ready`);
  for (const kind of ["liveness", "startup"] as const)
    if (harness.agent?.probes.get(kind, runs.id as ContainerId) === "failure")
      problems.push(`${name} runs, but its ${kind} probe failed`);
  return problems;
}

/** The pod has a container that is always restarted, and that its init containers do not prevent from starting. */
function runsForever({ kind, pod }: DesiredPod): boolean {
  return kind !== "ownFailedInit" && pod.spec.containers.some((c) => isRestarted(pod, c, 0));
}

function newest(harness: PodLifecycleHarness, uid: PodUid, name: string): FakeContainer | undefined {
  return [...harness.runtime.pods.containers.values()]
    .filter((c) => uidOf(c) === uid && nameOf(c) === name)
    .sort((a, b) => b.config.metadata!.attempt - a.config.metadata!.attempt)[0];
}

function isFinished(pod: Pod, container: Container, last: FakeContainer): boolean {
  return last.state === ContainerState.CONTAINER_EXITED && !isRestarted(pod, container, last.exitCode);
}
