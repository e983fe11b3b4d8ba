import type { Draft } from "../definition.ts";

/** What keeps a claim that a pod uses, and a volume that a claim has. A controller takes them away. */
export const claimProtection = "kubernetes.io/pvc-protection";
export const volumeProtection = "kubernetes.io/pv-protection";

export function addFinalizer({ metadata }: Draft, name: string): void {
  if (!metadata.finalizers?.includes(name)) metadata.finalizers = [...(metadata.finalizers ?? []), name];
}
