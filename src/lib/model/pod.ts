import type { Brand } from "../base/brand.ts";
import type * as core from "../gen/kubernetes/core.d.ts";
import type { ObjectMeta } from "../gen/kubernetes/meta.d.ts";

export type PodUid = Brand<string, "PodUid">;
/** "name_namespace": unlike the UID, a static pod keeps it when its manifest is edited. */
export type PodFullName = Brand<string, "PodFullName">;

/** The identity of a pod. */
export interface PodId {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
}

/** "applied": applied over HTTP or with `kubelet apply`; kubelet-ts only. */
export type PodSourceName = "file" | "http" | "applied" | "api";

export interface PodMeta extends ObjectMeta {
  name: string;
  namespace: string;
  uid: PodUid;
}

export type Container = core.Container;
export type EphemeralContainer = core.EphemeralContainer;
export type EnvVar = core.EnvVar;
export type Volume = core.Volume;
export type VolumeMount = core.VolumeMount;
export type SecurityContext = core.SecurityContext;
export type PodSecurityContext = core.PodSecurityContext;
export type ResourceRequirements = core.ResourceRequirements;
export type Lifecycle = core.Lifecycle;
export type ContainerStatus = core.ContainerStatus;
export type ContainerState = core.ContainerState;
export type PodCondition = core.PodCondition;
export type PodStatus = core.PodStatus;
export type PodSpec = core.PodSpec;

/** A defaulted and validated pod, as all components after pod-config use it. */
export interface Pod {
  apiVersion: "v1";
  kind: "Pod";
  metadata: PodMeta;
  spec: PodSpec;
  status?: PodStatus;
}

export const annotationSource = "kubernetes.io/config.source";
export const annotationSeen = "kubernetes.io/config.seen";
export const annotationHash = "kubernetes.io/config.hash";
export const annotationMirror = "kubernetes.io/config.mirror";

export function fullNameOf(pod: { metadata: { name: string; namespace: string } }): PodFullName {
  return `${pod.metadata.name}_${pod.metadata.namespace}` as PodFullName;
}

/** "namespace/name", as in logs. */
export function podRef(pod: { metadata: { name: string; namespace: string } }): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

export function sourceOf(pod: Pod): PodSourceName {
  return (pod.metadata.annotations?.[annotationSource] as PodSourceName | undefined) ?? "api";
}

/** A pod from a file, from a URL or applied here: its only API object is a mirror pod. */
export function isStatic(pod: Pod): boolean {
  return sourceOf(pod) !== "api";
}
