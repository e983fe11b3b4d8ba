import { qualifiedName } from "../../lib/base/name-rules.ts";
import { storage } from "../../lib/schema/types/storage.ts";
import { defineKind } from "./define.ts";
import { nameIsSubdomain } from "./names.ts";

const parameterBytes = 256 * 1024;
const parameterCount = 512;

export const storageClasses = defineKind({
  group: "storage.k8s.io",
  version: "v1",
  name: "storageclasses",
  singular: "storageclass",
  kind: "StorageClass",
  namespaced: false,
  shortNames: ["sc"],
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.reclaimPolicy ??= "Delete";
    draft.volumeBindingMode ??= "Immediate";
  },
  check({ provisioner, parameters, reclaimPolicy, volumeBindingMode }, problems) {
    if (!provisioner) problems.required("provisioner");
    else problems.check("provisioner", provisioner.toLowerCase(), qualifiedName(provisioner.toLowerCase()));
    const all = Object.entries((parameters ?? {}) as Record<string, string>);
    if (all.length > parameterCount) problems.tooLong("parameters", parameterCount);
    let bytes = 0;
    for (const [key, value] of all) {
      if (key === "") problems.invalid("parameters", key, "field can not be empty.");
      bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    }
    if (bytes > parameterBytes) problems.tooLong("parameters", parameterBytes);
    problems.oneOf("reclaimPolicy", reclaimPolicy, ["Delete", "Retain"]);
    problems.oneOf("volumeBindingMode", volumeBindingMode, storage.values("VolumeBindingMode"));
  },
  checkUpdate(draft, oldObject, problems) {
    for (const field of ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"])
      problems.immutable(field, draft[field], oldObject[field]);
  },
});
