import { messageOf } from "../../../lib/base/errors.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";

/** Why the kubelet terminates a pod, and how quickly. */
export interface Eviction {
  readonly failure: PodFailure;
  /** At most this long, and not longer than the pod's own grace period if that is shorter already; undefined for the pod's own. */
  readonly graceSeconds?: number | undefined;
  /** The boot in which the pod was terminated, if it may run again after the next one. */
  readonly bootId?: string | undefined;
}

const version = 1;

export function encodeRecord(evictions: ReadonlyMap<PodUid, Eviction>): string {
  const pods = [...evictions].map(([uid, eviction]) => ({ uid, ...eviction }));
  return `${JSON.stringify({ version, pods }, undefined, 1)}\n`;
}

/** Throws if the record is invalid, with the reason. */
export function decodeRecord(text: string): Map<PodUid, Eviction> {
  const evictions = new Map<PodUid, Eviction>();
  const { version: found, pods } = parse(text);
  if (found !== version) throw new Error(`version ${JSON.stringify(found)} is not ${version}`);
  if (!Array.isArray(pods)) throw new Error("pods: not a list");
  for (const [index, pod] of pods.entries()) {
    const { uid, failure, graceSeconds, bootId } = (pod ?? {}) as Partial<Eviction> & { uid?: unknown };
    if (typeof uid !== "string" || uid === "") throw new Error(`pods[${index}].uid: not a UID`);
    if (typeof failure?.reason !== "string" || typeof failure.message !== "string")
      throw new Error(`pods[${index}].failure: has no reason or no message`);
    if (graceSeconds !== undefined && !Number.isFinite(graceSeconds))
      throw new Error(`pods[${index}].graceSeconds: not a number`);
    if (bootId !== undefined && typeof bootId !== "string")
      throw new Error(`pods[${index}].bootId: not a string`);
    evictions.set(uid as PodUid, {
      failure: { ...failure, phase: "Failed" },
      graceSeconds,
      ...(bootId !== undefined && { bootId }),
    });
  }
  return evictions;
}

function parse(text: string): { version?: unknown; pods?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as { version?: unknown; pods?: unknown };
  } catch (error) {
    throw new Error(`not JSON: ${messageOf(error)}`);
  }
}
