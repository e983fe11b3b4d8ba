import { checkIscsi } from "../../lib/model/validation/iscsi.ts";
import { core } from "../../lib/schema/types/core/core.ts";
import type { Unstructured } from "../definition.ts";
import { checkDriverName } from "./csi-nodes.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";
import { jsonDiff } from "./pods/spec-diff.ts";
import { checkPositive } from "./quantities.ts";
import { same } from "./same.ts";
import {
  addFinalizer,
  checkAccessModes,
  checkStorageClass,
  volumeModes,
  volumeProtection,
} from "./volume-fields.ts";

/** The fields of a spec of which exactly one defines the volume source. */
const sources = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "flocker",
  "nfs",
  "rbd",
  "quobyte",
  "cephfs",
  "iscsi",
  "cinder",
  "fc",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "scaleIO",
  "local",
  "storageos",
  "csi",
];

const reclaimPolicies = core.values("PersistentVolumeReclaimPolicy");

export const persistentVolumes = defineKind({
  group: "",
  version: "v1",
  name: "persistentvolumes",
  singular: "persistentvolume",
  kind: "PersistentVolume",
  namespaced: false,
  shortNames: ["pv"],
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.spec ??= {};
    const { spec } = draft;
    spec.persistentVolumeReclaimPolicy ||= "Retain";
    spec.volumeMode ??= "Filesystem";
    if (spec.hostPath) spec.hostPath.type ??= "";
    draft.status = { phase: "Pending", ...draft.status };
  },
  prepareCreate: (draft) => addFinalizer(draft, volumeProtection),
  check({ metadata, spec }, problems) {
    if (!spec.accessModes?.length) problems.required("spec.accessModes");
    checkAccessModes(spec.accessModes ?? [], "spec.accessModes", problems);
    checkCapacity(spec.capacity, problems);
    problems.oneOf("spec.persistentVolumeReclaimPolicy", spec.persistentVolumeReclaimPolicy, reclaimPolicies);
    checkSource(metadata.name ?? "", spec, problems);
    checkStorageClass(spec.storageClassName, problems);
    problems.oneOf("spec.volumeMode", spec.volumeMode, volumeModes);
  },
  checkUpdate(draft, oldObject, problems) {
    const oldSource = sourceOf(oldObject.spec);
    const newSource = sourceOf(draft.spec);
    if (!same(oldSource, newSource))
      problems.forbidden(
        "spec.persistentvolumesource",
        `spec.persistentvolumesource is immutable after creation\n${jsonDiff(oldSource, newSource)}`,
      );
    problems.immutable("volumeMode", draft.spec.volumeMode, oldObject.spec.volumeMode);
    if (oldObject.spec.nodeAffinity)
      problems.immutable("nodeAffinity", draft.spec.nodeAffinity, oldObject.spec.nodeAffinity);
  },
  status: { atCreation: { phase: "Pending" } },
});

function sourceOf(spec: Readonly<Unstructured>): Record<string, unknown> {
  return Object.fromEntries(sources.filter((name) => spec[name]).map((name) => [name, spec[name]]));
}

function checkCapacity(capacity: Record<string, string> | undefined, problems: FieldProblems): void {
  const names = Object.keys(capacity ?? {});
  if (names.length === 0) problems.required("spec.capacity");
  if (names.length !== 1 || names[0] !== "storage")
    problems.unsupported("spec.capacity", capacity ?? {}, ["storage"]);
  for (const [name, amount] of Object.entries(capacity ?? {}))
    checkPositive(`spec.capacity[${name}]`, amount, problems);
}

function checkSource(name: string, spec: Unstructured, problems: FieldProblems): void {
  const present = sources.filter((name) => spec[name]);
  if (present.length === 0) problems.required("spec", "must specify a volume type");
  for (const extra of present.slice(1))
    problems.forbidden(`spec.${extra}`, "may not specify more than 1 volume type");
  const path: string = spec.hostPath?.path ?? "";
  if (spec.hostPath && path === "") problems.required("spec.hostPath.path");
  if (path.split("/").includes("..")) problems.invalid("spec.hostPath.path", path, "must not contain '..'");
  if (spec.hostPath && /^\/+$/.test(path) && spec.persistentVolumeReclaimPolicy === "Recycle")
    problems.forbidden(
      "spec.persistentVolumeReclaimPolicy",
      "may not be 'recycle' for a hostPath mount of '/'",
    );
  if (spec.nfs) {
    if (!spec.nfs.server) problems.required("spec.nfs.server");
    if (!spec.nfs.path) problems.required("spec.nfs.path");
    else if (!spec.nfs.path.startsWith("/"))
      problems.invalid("spec.nfs.path", spec.nfs.path, "must be an absolute path");
  }
  if (spec.iscsi) {
    if (!spec.iscsi.targetPortal) problems.required("spec.iscsi.targetPortal");
    if (!spec.iscsi.iqn) problems.required("spec.iscsi.iqn");
    checkIscsi(spec.iscsi, { name, at: "spec", isPod: false }, problems);
  }
  if (spec.local) {
    if (!spec.local.path) problems.required("spec.local.path");
    if (!spec.nodeAffinity?.required)
      problems.required("spec.nodeAffinity", "Local volume requires node affinity");
  }
  if (spec.csi) {
    checkDriverName(spec.csi.driver, "spec.csi.driver", problems);
    if (!spec.csi.volumeHandle) problems.required("spec.csi.volumeHandle");
  }
}
