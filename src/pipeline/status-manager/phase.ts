import type { Container, Pod } from "../../model/pod.ts";
import { newestContainer, type ObservedContainer, type ObservedPod } from "../../state/observed-pods.ts";

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

/** The phase of a pod, from its spec and what the runtime has of it. */
export function podPhase(pod: Pod, seen: ObservedPod | undefined): PodPhase {
  const policy = pod.spec.restartPolicy ?? "Always";
  const init = initState(pod.spec.initContainers ?? [], seen);
  if (init === "failed" && policy === "Never") return "Failed";
  if (init === "running") return "Pending";
  const states = pod.spec.containers.map((c) => newestContainer(seen, c.name));
  // A regular container is only ever made when the init containers are through, whatever became of them since.
  if (init !== "done" && states.every((s) => s === undefined)) return "Pending";
  if (states.some((s) => s === undefined || isFirst(s))) return "Pending";
  if (states.some((s) => s!.state !== "exited")) return "Running";
  if (policy === "Always") return "Running";
  if (states.every((s) => s!.exitCode === 0)) return "Succeeded";
  return policy === "Never" ? "Failed" : "Running";
}

/** Made and not yet started, for the first time: one that is being restarted does not take its pod back to Pending. */
function isFirst({ state, attempt }: ObservedContainer): boolean {
  return state === "created" && attempt === 0;
}

type InitState = "done" | "running" | "pending" | "failed";

function initState(containers: Container[], seen: ObservedPod | undefined): InitState {
  for (const container of containers) {
    const last = newestContainer(seen, container.name);
    if (container.restartPolicy === "Always") {
      if (last?.state === "running") continue;
      return "pending";
    }
    if (last?.state === "running") return "running";
    if (last?.state !== "exited") return "pending";
    if (last.exitCode !== 0) return "failed";
  }
  return "done";
}
