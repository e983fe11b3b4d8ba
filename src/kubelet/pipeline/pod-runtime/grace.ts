import { readContainerInfo } from "../../../lib/model/labels.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import type { KillCause } from "./plan/pod-plan.ts";

/** No container gets less than this to end by itself. */
export const shortestGraceSeconds = 2;
const defaultGraceSeconds = 30;

type Ending = Pick<ObservedContainer, "name" | "annotations">;

/**
 * How long a container may take to end, its preStop hook included: as who stops it asks for, as the deletion of its
 * pod says, as the probe says that it failed, as its pod says. Of a pod that nobody knows, as it was created. 0 means
 * at once, without a hook, as when all containers of a pod are restarted.
 */
export function graceSecondsOf(
  pod: Pod | undefined,
  container: Ending,
  options: { override?: number; cause?: KillCause } = {},
): number {
  if (options.override !== undefined) return Math.max(0, options.override);
  if (options.cause === "restart-all") return 0;
  const { deletion, own } = pod ? graceOfPod(pod) : recordedGrace(container);
  return Math.max(0, deletion ?? probeGrace(pod, container.name, options.cause) ?? own);
}

function graceOfPod({ metadata, spec }: Pod) {
  return {
    deletion: metadata.deletionGracePeriodSeconds,
    own: spec.terminationGracePeriodSeconds ?? defaultGraceSeconds,
  };
}

function recordedGrace({ annotations }: Ending) {
  const notes = readContainerInfo(annotations);
  return {
    deletion: notes.deletionGracePeriodSeconds,
    own: notes.terminationGracePeriodSeconds ?? shortestGraceSeconds,
  };
}

function probeGrace(pod: Pod | undefined, name: string, cause: KillCause | undefined): number | undefined {
  const container = pod && specOf(pod, name);
  if (cause === "startup-probe") return container?.startupProbe?.terminationGracePeriodSeconds;
  if (cause === "liveness-probe") return container?.livenessProbe?.terminationGracePeriodSeconds;
  return undefined;
}

export function specOf(pod: Pod, name: string): Container | undefined {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((c) => c.name === name);
}
