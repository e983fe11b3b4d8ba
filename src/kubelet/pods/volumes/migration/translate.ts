import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { PersistentSource, VolumeSpec } from "../volume-plugin.ts";
import { type InTreeType, inTreeTypes } from "./in-tree-types.ts";
import { withDriverLabels } from "./topology.ts";

/** Names of the migrated plugins, for the annotation of the CSINode. */
export const migratedPlugins: readonly string[] = Object.values(inTreeTypes)
  .map(({ plugin }) => plugin)
  .sort((a, b) => (a < b ? -1 : 1));

/**
 * Translates a volume of an in-tree type to one of its CSI driver. An inline volume becomes a virtual PersistentVolume that is named
 * after its disk: all pods with the disk share it.
 */
export function toCsi(spec: VolumeSpec, podNamespace: string): VolumeSpec {
  const { persistent, volume } = spec;
  const [field, type] = typeOf(persistent ? persistent.spec : volume) ?? [];
  if (!field || !type) return spec;
  try {
    return persistent
      ? { ...spec, migrated: true, persistent: migratedVolume(persistent, field, type) }
      : migratedInline(spec, field, type, podNamespace);
  } catch (error) {
    const message = `failed to translate in-tree pv to CSI: ${messageOf(error)}`;
    throw new KubeletError("Volume", message, { cause: error });
  }
}

function migratedVolume(source: PersistentSource, field: string, type: InTreeType): PersistentSource {
  const { [field]: inTree, ...rest } = source.spec;
  const { labels = {}, annotations = {}, volumeName: name, claim } = source;
  const csi = type.translate(inTree, {
    isInline: false,
    name,
    namespace: claim.namespace,
    labels,
    annotations,
  });
  const { zoneLabel, regionLabel } = type;
  const nodeAffinity = zoneLabel
    ? withDriverLabels(rest.nodeAffinity, labels, { zone: zoneLabel, region: regionLabel })
    : rest.nodeAffinity;
  return {
    ...source,
    spec: {
      ...rest,
      csi,
      ...(nodeAffinity && { nodeAffinity }),
      ...(type.modes && rest.accessModes && { accessModes: type.modes(rest.accessModes) }),
    },
  };
}

function migratedInline(spec: VolumeSpec, field: string, type: InTreeType, namespace: string): VolumeSpec {
  const sources: Readonly<Record<string, unknown>> = { ...spec.volume };
  const inTree = sources[field] as { readonly readOnly?: boolean };
  const context = { isInline: true, name: spec.volume.name, namespace, labels: {}, annotations: {} };
  const csi = type.translate(inTree, context);
  const fullName = type.inlineName?.(inTree, csi) ?? `${csi.driver}-${csi.volumeHandle}`;
  const name = fullName.replaceAll("/", "~"); // used as a directory name
  return {
    ...spec,
    name,
    migrated: true,
    persistent: {
      volumeName: name,
      spec: { csi, accessModes: [type.inlineMode?.(inTree) ?? "ReadWriteOnce"] },
      claim: { namespace: "", name: "", uid: "" },
      mode: "Filesystem",
    },
  };
}

function typeOf(source: object): [string, InTreeType] | undefined {
  return Object.entries(inTreeTypes).find(([field]) => (source as Record<string, unknown>)[field]);
}
