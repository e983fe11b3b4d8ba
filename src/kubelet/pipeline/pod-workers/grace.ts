import type { Pod } from "../../../lib/model/pod.ts";

const minSeconds = 1;
const defaultSeconds = 30;

/**
 * The grace period of a pod that terminates: the shortest that was requested, otherwise the one in its spec. An orphan has the minimum: it may
 * run elsewhere by now.
 */
export function effectiveGraceSeconds(
  pod: Pod | undefined,
  current: number | undefined,
  requested: number | undefined,
): number {
  const requests = [current, pod?.metadata.deletionGracePeriodSeconds, requested].filter(
    (s) => s !== undefined,
  );
  if (requests.length > 0) return Math.max(minSeconds, Math.min(...requests));
  if (!pod) return minSeconds;
  return Math.max(minSeconds, pod.spec.terminationGracePeriodSeconds ?? defaultSeconds);
}
