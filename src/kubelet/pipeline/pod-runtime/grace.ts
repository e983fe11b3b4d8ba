import type { Container, Pod } from "../../../lib/model/pod.ts";
import type { KillCause } from "./plan/pod-plan.ts";

/** The minimum grace period of a container. */
export const minGraceSeconds = 2;
const defaultGraceSeconds = 30;
/** A pod that is in no source may run elsewhere by now. */
const orphanGraceSeconds = 1;

/**
 * The grace period of a container, including its preStop hook. In order of precedence: the caller's override, the deletionGracePeriodSeconds
 * of the pod, the terminationGracePeriodSeconds of the failed probe, the terminationGracePeriodSeconds of the pod spec. The containers of an
 * orphan have 1 s. 0 means that the container is stopped without running the hook, as when all
 * containers of a pod are restarted.
 */
export function graceSecondsOf(
  pod: Pod | undefined,
  container: string,
  options: { override?: number; cause?: KillCause } = {},
): number {
  if (options.override !== undefined) return Math.max(0, options.override);
  if (options.cause === "restart-all") return 0;
  if (!pod) return orphanGraceSeconds;
  const { deletionGracePeriodSeconds: deletion } = pod.metadata;
  const spec = pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds;
  return Math.max(0, deletion ?? probeGrace(pod, container, options.cause) ?? spec);
}

function probeGrace(pod: Pod, name: string, cause: KillCause | undefined): number | undefined {
  const container = specOf(pod, name);
  if (cause === "startup-probe") return container?.startupProbe?.terminationGracePeriodSeconds;
  if (cause === "liveness-probe") return container?.livenessProbe?.terminationGracePeriodSeconds;
  return undefined;
}

export function specOf(pod: Pod, name: string): Container | undefined {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((c) => c.name === name);
}
