import type { Pod } from "../../../../lib/model/pod.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import { inlineHandle } from "./names.ts";

export type StringMap = Readonly<Record<string, string>>;

export interface SecretRef {
  readonly namespace: string;
  readonly name: string;
}

interface Common {
  readonly driver: string;
  readonly fsType: string;
  readonly attributes: StringMap | undefined;
  readonly readOnly: boolean;
  readonly publishSecret: SecretRef | undefined;
}

/** An inline volume, which has the lifetime of the pod. */
export interface EphemeralSource extends Common {
  readonly mode: "Ephemeral";
}

export interface PersistentCsiSource extends Common {
  readonly mode: "Persistent";
  readonly handle: string;
  readonly accessModes: readonly string[] | undefined;
  readonly mountOptions: readonly string[];
  readonly stageSecret: SecretRef | undefined;
  readonly expandSecret: SecretRef | undefined;
}

export type CsiSource = EphemeralSource | PersistentCsiSource;

/** The CSI source of the volume, if it has one. `namespace` is the pod's namespace, for the secrets of inline volumes. */
export function csiSourceOf(spec: VolumeSpec, namespace: string): CsiSource | undefined {
  const { persistent, volume } = spec;
  if (persistent) return persistentSourceOf(spec);
  const inline = volume.csi;
  if (!inline) return undefined;
  const secret = inline.nodePublishSecretRef?.name;
  return {
    mode: "Ephemeral",
    driver: inline.driver,
    fsType: inline.fsType ?? "",
    attributes: inline.volumeAttributes,
    readOnly: inline.readOnly ?? false,
    publishSecret: secret ? { namespace, name: secret } : undefined,
  };
}

export function persistentSourceOf(spec: VolumeSpec): PersistentCsiSource | undefined {
  const pv = spec.persistent?.spec;
  if (!pv?.csi) return undefined;
  return {
    mode: "Persistent",
    driver: pv.csi.driver,
    handle: pv.csi.volumeHandle,
    fsType: pv.csi.fsType ?? "",
    attributes: pv.csi.volumeAttributes,
    readOnly: spec.readOnly,
    accessModes: pv.accessModes,
    mountOptions: pv.mountOptions ?? [],
    publishSecret: pv.csi.nodePublishSecretRef,
    stageSecret: pv.csi.nodeStageSecretRef,
    expandSecret: pv.csi.nodeExpandSecretRef,
  };
}

export function handleOf(source: CsiSource, pod: Pod, spec: VolumeSpec): string {
  return source.mode === "Persistent" ? source.handle : inlineHandle(pod.metadata.uid, spec.name);
}

/** The name of the volume's directory. */
export function dirNameOf(spec: VolumeSpec): string {
  return spec.persistent?.volumeName ?? spec.name;
}

/** The first access mode is used; inline volumes belong to one pod. */
export function accessModeOf(source: CsiSource): string {
  return (source.mode === "Persistent" && source.accessModes?.[0]) || "ReadWriteOnce";
}
