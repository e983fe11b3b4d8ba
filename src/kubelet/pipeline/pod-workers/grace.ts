import type { Pod } from "../../../lib/model/pod.ts";

const minSeconds = 1;
const defaultSeconds = 30;

/**
 * The grace period of a pod that terminates: the shortest that was requested, otherwise that of its spec. Undefined if there is neither a spec
 * nor a request: then that of its containers applies.
 */
export function effectiveGraceSeconds(
  pod: Pod | undefined,
  current: number | undefined,
  requested: number | undefined,
): number | undefined {
  const requests = [current, pod?.metadata.deletionGracePeriodSeconds, requested].filter(
    (s) => s !== undefined,
  );
  if (requests.length > 0) return Math.max(minSeconds, Math.min(...requests));
  return pod && Math.max(minSeconds, pod.spec.terminationGracePeriodSeconds ?? defaultSeconds);
}
