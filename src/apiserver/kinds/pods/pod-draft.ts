import {
  annotationMirror,
  type Container,
  type Pod,
  type PodSpec,
  type PodStatus,
} from "../../../lib/model/pod.ts";
import type { Draft, DraftMeta } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";

/** A draft that is known to be a pod of the right types. */
export interface PodDraft {
  apiVersion?: string;
  kind?: string;
  metadata: DraftMeta;
  spec: PodSpec;
  status?: PodStatus;
}

/** The same object, seen as a pod: field types were checked when the request was decoded. */
export function asPod(object: Draft | ApiObject): PodDraft {
  return object as unknown as PodDraft;
}

/** For functions of the model, which speak of pods that a node has. */
export function asModelPod(pod: PodDraft): Pod {
  return pod as unknown as Pod;
}

/** The image in the API of a pod that a node has from elsewhere. */
export function isMirror(pod: { metadata: { annotations?: Record<string, string> } }): boolean {
  return Object.hasOwn(pod.metadata.annotations ?? {}, annotationMirror);
}

/** Every container of a pod with its path, ephemeral ones too. */
export function* containersOf(spec: PodSpec): Generator<{ container: Container; path: string }> {
  for (const kind of ["initContainers", "containers", "ephemeralContainers"] as const)
    for (const [i, container] of (spec[kind] ?? []).entries())
      yield { container: container as Container, path: `spec.${kind}[${i}]` };
}

/** A moment as objects have it: whole seconds. */
export function timestamp(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}
