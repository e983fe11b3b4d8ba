import {
  annotationMirror,
  type Container,
  type Pod,
  type PodSpec,
  type PodStatus,
} from "../../../lib/model/pod.ts";
import type { Unstructured } from "../../definition.ts";
import { type ApiObject, typed } from "../../storage/object.ts";

/** A draft (see `Unstructured`) that is known to be a pod of the right types. */
export interface PodDraft extends Unstructured {
  spec: PodSpec;
  status?: PodStatus;
}

/** The same object, typed as a pod: field types were checked when the request was decoded. */
export function asPod(object: ApiObject): PodDraft {
  return typed(object);
}

/** For functions of `lib/model`, which take pods as a node has them. */
export function asModelPod(pod: PodDraft): Pod {
  return pod as Pod;
}

/** True for a mirror pod. */
export function isMirror(pod: { metadata: { annotations?: Record<string, string> } }): boolean {
  return Object.hasOwn(pod.metadata.annotations ?? {}, annotationMirror);
}

/** Every container of a pod with its path, ephemeral ones too. */
export function* containersOf(spec: PodSpec): Generator<{ container: Container; path: string }> {
  for (const kind of ["initContainers", "containers", "ephemeralContainers"] as const)
    for (const [i, container] of (spec[kind] ?? []).entries())
      yield { container: container as Container, path: `spec.${kind}[${i}]` };
}

/** A timestamp in API format: whole seconds. */
export function timestamp(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}
