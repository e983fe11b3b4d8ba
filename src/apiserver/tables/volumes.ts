import type { PersistentVolume, PersistentVolumeClaim } from "../../lib/gen/kubernetes/core.d.ts";
import type { StorageClass, VolumeAttachment } from "../../lib/gen/kubernetes/storage.d.ts";
import { canonicalQuantity } from "../../lib/model/quantity-form.ts";
import { ageColumn, column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

type VolumeView = PersistentVolume & Named;
type ClaimView = PersistentVolumeClaim & Named;
type ClassView = StorageClass & Named;

const unset = "<unset>";

export const persistentVolumeTable = tableDefinition<VolumeView>([
  nameColumn,
  column("Capacity", "The capacity of the volume.", (o) => storage(o.spec?.capacity)),
  column("Access Modes", "The access modes of the volume.", (o) => modes(o.spec?.accessModes)),
  column(
    "Reclaim Policy",
    "What happens to the volume when its claim is deleted.",
    (o) => o.spec?.persistentVolumeReclaimPolicy ?? "",
  ),
  column("Status", "Whether it is bound to a claim.", phase),
  column("Claim", "The claim that it is bound to.", (o) =>
    o.spec?.claimRef ? `${o.spec.claimRef.namespace ?? ""}/${o.spec.claimRef.name ?? ""}` : "",
  ),
  column("StorageClass", "The storage class of the volume.", (o) => classOf(o)),
  column(
    "VolumeAttributesClass",
    "The volume attributes class.",
    (o) => o.spec?.volumeAttributesClassName ?? unset,
  ),
  column("Reason", "The reason for the status.", (o) => o.status?.reason ?? ""),
  ageColumn,
  column("VolumeMode", "A filesystem or a block device.", (o) => o.spec?.volumeMode ?? unset, {
    wide: true,
  }),
]);

export const persistentVolumeClaimTable = tableDefinition<ClaimView>([
  nameColumn,
  column("Status", "Whether it is bound to a volume.", phase),
  column("Volume", "The volume that it is bound to.", (o) => o.spec?.volumeName ?? ""),
  column("Capacity", "The capacity of the bound volume.", (o) =>
    o.spec?.volumeName ? storage(o.status?.capacity) : "",
  ),
  column("Access Modes", "The access modes of the bound volume.", (o) =>
    o.spec?.volumeName ? modes(o.status?.accessModes) : "",
  ),
  column("StorageClass", "The requested class.", (o) => classOf(o)),
  column(
    "VolumeAttributesClass",
    "The requested attributes class.",
    (o) => o.spec?.volumeAttributesClassName ?? unset,
  ),
  ageColumn,
  column("VolumeMode", "A filesystem or a block device.", (o) => o.spec?.volumeMode ?? unset, {
    wide: true,
  }),
]);

export const storageClassTable = tableDefinition<ClassView>([
  column("Name", "The name of the object.", (o) => `${o.metadata.name}${isDefault(o) ? " (default)" : ""}`, {
    format: "name",
  }),
  column("Provisioner", "The provisioner of volumes of this class.", (o) => o.provisioner ?? ""),
  column(
    "ReclaimPolicy",
    "What happens to a volume when its claim is deleted.",
    (o) => o.reclaimPolicy ?? "Delete",
  ),
  column("VolumeBindingMode", "When claims are bound.", (o) => o.volumeBindingMode ?? "Immediate"),
  column("AllowVolumeExpansion", "Whether volumes can be expanded.", (o) => o.allowVolumeExpansion ?? false),
  ageColumn,
]);

export const volumeAttachmentTable = tableDefinition<VolumeAttachment & Named>([
  nameColumn,
  column("Attacher", "The driver that attaches the volume.", (o) => o.spec?.attacher ?? "", {
    format: "name",
  }),
  column("PV", "The volume.", (o) => o.spec?.source?.persistentVolumeName ?? ""),
  column("Node", "The node that it is attached to.", (o) => o.spec?.nodeName ?? ""),
  column("Attached", "Whether it is attached.", (o) => o.status?.attached ?? false, { type: "boolean" }),
  ageColumn,
]);

function storage(amounts: Readonly<Record<string, string>> | undefined): string {
  const amount = amounts?.storage;
  return amount === undefined ? "0" : (canonicalQuantity(amount) ?? amount);
}

const shortModes: readonly [string, string][] = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
];

function modes(given: readonly string[] | undefined): string {
  return shortModes
    .filter(([mode]) => given?.includes(mode))
    .map(([, short]) => short)
    .join(",");
}

function phase(object: (VolumeView | ClaimView) & Named): string {
  return object.metadata.deletionTimestamp ? "Terminating" : (object.status?.phase ?? "");
}

function classOf(object: VolumeView | ClaimView): string {
  const old = object.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"];
  return old ?? object.spec?.storageClassName ?? "";
}

function isDefault({ metadata }: Named): boolean {
  return [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
  ].some((key) => metadata.annotations?.[key] === "true");
}
