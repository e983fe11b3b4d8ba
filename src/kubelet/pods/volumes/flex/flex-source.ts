import { KubeletError } from "../../../../lib/base/errors.ts";
import { apiJson } from "../../../../lib/model/container-hash.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { VolumeSpec } from "../volume-plugin.ts";

interface FlexSource {
  /** The name of the driver, "vendor/driver". */
  readonly driver: string;
  readonly fsType?: string;
  readonly secretRef?: { readonly name?: string; readonly namespace?: string };
  readonly options?: Readonly<Record<string, string>>;
}

/** A namespace of keys that only the kubelet sets, according to the API. */
const reservedKey = /^([^/]*\.)?(kubernetes|k8s)\.io\//;

export function flexSourceOf({ volume, persistent }: VolumeSpec): FlexSource | undefined {
  return persistent ? persistent.spec.flexVolume : volume.flexVolume;
}

/** The options of a call, as a driver gets them: JSON with sorted keys. */
export function optionsFor(spec: VolumeSpec, more: Readonly<Record<string, string>> = {}): string {
  const { fsType = "", options = {} } = flexSourceOf(spec) ?? {};
  const reserved = Object.keys(options).find((key) => reservedKey.test(key));
  if (reserved !== undefined)
    throw new KubeletError(
      "FlexVolume",
      `must not specify options with 'kubernetes.io' and 'k8s.io' namespace: ${JSON.stringify(reserved)}`,
    );
  const all: Record<string, string> = {
    "kubernetes.io/fsType": fsType,
    "kubernetes.io/readwrite": spec.readOnly ? "ro" : "rw",
    "kubernetes.io/pvOrVolumeName": spec.name,
    ...more,
    ...options,
  };
  const keys = Object.keys(all).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return apiJson(Object.fromEntries(keys.map((key) => [key, all[key]])));
}

/** The further options of the mount command: the pod, the group of the files and the secret. */
export function podOptions(
  pod: Pod,
  fsGroup: number | undefined,
  secret: Readonly<Record<string, string>>,
): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  return {
    "kubernetes.io/pod.name": name,
    "kubernetes.io/pod.namespace": namespace,
    "kubernetes.io/pod.uid": uid,
    "kubernetes.io/serviceAccount.name": pod.spec.serviceAccountName ?? "",
    ...Object.fromEntries(Object.entries(secret).map(([key, data]) => [`kubernetes.io/secret/${key}`, data])),
    ...(fsGroup !== undefined && { "kubernetes.io/mounterArgs.FsGroup": String(fsGroup) }),
  };
}

/** The part of a spec that is known from its directory. */
export function specOf(driver: string, name: string): VolumeSpec {
  return { name, volume: { name, flexVolume: { driver } }, readOnly: false };
}
