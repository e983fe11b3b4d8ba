import type { NodeSelectorTerm } from "../../../lib/gen/kubernetes/core.d.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ApiObject } from "../../storage/object.ts";

/** Lookups of PVCs, PVs and ResourceClaims for the scheduler. */
export interface VolumeLookup {
  claim(namespace: string, name: string): ApiObject | undefined;
  volume(name: string): ApiObject | undefined;
  resourceClaim?(namespace: string, name: string): ApiObject | undefined;
  /** Why the pod waits for its resource claims. */
  blocked?(pod: Pod): string | undefined;
}

export type PodVolumes =
  | { readonly ready: true; readonly nodeTerms: readonly (readonly NodeSelectorTerm[])[] }
  /** Why the pod has to wait, on any node. */
  | { readonly ready: false; readonly reason: string };

export function claimNames(pod: Pod): string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) =>
    volume.persistentVolumeClaim
      ? [volume.persistentVolumeClaim.claimName]
      : volume.ephemeral
        ? [`${pod.metadata.name}-${volume.name}`]
        : [],
  );
}

/** The nodes that have the devices of the pod's resource claims. */
function deviceTerms({ spec, status, metadata }: Pod, lookup: VolumeLookup): (readonly NodeSelectorTerm[])[] {
  return (spec.resourceClaims ?? []).flatMap(({ name, resourceClaimName }) => {
    const generated = status?.resourceClaimStatuses?.find((one) => one.name === name)?.resourceClaimName;
    const claim = lookup.resourceClaim?.(metadata.namespace, resourceClaimName ?? generated ?? "");
    const selector = claim?.status?.allocation?.nodeSelector;
    return selector ? [selector.nodeSelectorTerms ?? []] : [];
  });
}

export function podVolumes(pod: Pod, lookup: VolumeLookup): PodVolumes {
  const blocked = lookup.blocked?.(pod);
  if (blocked !== undefined) return { ready: false, reason: blocked };
  const nodeTerms = deviceTerms(pod, lookup);
  for (const name of claimNames(pod)) {
    const found = lookup.claim(pod.metadata.namespace, name);
    if (found === undefined) return { ready: false, reason: `persistentvolumeclaim "${name}" not found` };
    const claim = found;
    if (claim.metadata.deletionTimestamp !== undefined)
      return { ready: false, reason: `persistentvolumeclaim "${name}" is being deleted` };
    if (claim.status?.phase === "Lost")
      return {
        ready: false,
        reason: `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName}"`,
      };
    const volume = claim.status?.phase === "Bound" ? lookup.volume(claim.spec.volumeName) : undefined;
    if (volume === undefined)
      return { ready: false, reason: "pod has unbound immediate PersistentVolumeClaims" };
    const required = volume.spec?.nodeAffinity?.required;
    if (required !== undefined) nodeTerms.push(required.nodeSelectorTerms ?? []);
  }
  return { ready: true, nodeTerms };
}
