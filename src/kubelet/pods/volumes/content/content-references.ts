import type { Pod, PodUid, Volume } from "../../../../lib/model/pod.ts";

/** An object that is the source of files of volumes, and may change. */
export type ContentRef =
  | { readonly kind: "ConfigMap" | "Secret"; readonly namespace: string; readonly name: string }
  /** Any of them: volumes may select them by labels. */
  | { readonly kind: "ClusterTrustBundle" }
  /** The certificates of a pod. */
  | { readonly kind: "PodCertificate"; readonly uid: PodUid };

/** Names of the pod's volumes that have to be set up again when the object has changed. */
export function volumesReferencing({ metadata, spec }: Pod, ref: ContentRef): string[] {
  if ("namespace" in ref && ref.namespace !== metadata.namespace) return [];
  if ("uid" in ref && ref.uid !== metadata.uid) return [];
  return (spec.volumes ?? []).filter((volume) => refersTo(volume, ref)).map(({ name }) => name);
}

/** The pods that have such a volume. */
export function podsReferencing(pods: Iterable<Pod>, ref: ContentRef): PodUid[] {
  return [...pods]
    .filter((pod) => volumesReferencing(pod, ref).length > 0)
    .map(({ metadata }) => metadata.uid);
}

function refersTo({ secret, configMap, projected }: Volume, ref: ContentRef): boolean {
  const sources = projected?.sources ?? [];
  switch (ref.kind) {
    case "Secret":
      return secret?.secretName === ref.name || sources.some((source) => source.secret?.name === ref.name);
    case "ConfigMap":
      return configMap?.name === ref.name || sources.some((source) => source.configMap?.name === ref.name);
    case "ClusterTrustBundle":
      return sources.some((source) => source.clusterTrustBundle !== undefined);
    case "PodCertificate":
      return sources.some((source) => source.podCertificate !== undefined);
    default:
      return ref satisfies never;
  }
}
