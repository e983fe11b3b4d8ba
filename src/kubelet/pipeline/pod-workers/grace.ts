import type { Pod } from "../../../lib/model/pod.ts";

const shortestSeconds = 1;
const usualSeconds = 30;

/**
 * How long a pod that is to end is given for it: the least that anyone asked for, else what its spec says. Undefined for
 * what nobody knows the spec of, and nobody asked: then its containers say.
 */
export function graceOf(
  pod: Pod | undefined,
  current: number | undefined,
  asked: number | undefined,
): number | undefined {
  const wishes = [current, pod?.metadata.deletionGracePeriodSeconds, asked].filter((s) => s !== undefined);
  if (wishes.length > 0) return Math.max(shortestSeconds, Math.min(...wishes));
  return pod && Math.max(shortestSeconds, pod.spec.terminationGracePeriodSeconds ?? usualSeconds);
}
