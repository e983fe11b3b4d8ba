import { dnsSubdomain } from "../../lib/base/name-rules.ts";
import { core } from "../../lib/schema/types/core/core.ts";
import type { Unstructured } from "../definition.ts";
import type { FieldProblems } from "./field-problems.ts";

const modes = core.values("PersistentVolumeAccessMode");
export const volumeModes = core.values("PersistentVolumeMode");

export function checkAccessModes(requested: readonly string[], path: string, problems: FieldProblems): void {
  for (const mode of requested) problems.oneOf(path, mode, modes);
  if (requested.includes("ReadWriteOncePod") && requested.some((mode) => mode !== "ReadWriteOncePod"))
    problems.forbidden(path, "may not use ReadWriteOncePod with other access modes");
}

/** Finalizers that protect a PVC in use by a pod, and a bound PV. A controller removes them. */
export const claimProtection = "kubernetes.io/pvc-protection";
export const volumeProtection = "kubernetes.io/pv-protection";

export function addFinalizer({ metadata }: Unstructured, name: string): void {
  if (!metadata.finalizers?.includes(name)) metadata.finalizers = [...(metadata.finalizers ?? []), name];
}

export function checkStorageClass(name: string | undefined, problems: FieldProblems): void {
  if (name) problems.check("spec.storageClassName", name, dnsSubdomain(name));
}
