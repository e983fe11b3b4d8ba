import { isStatic, type Pod, type PodSpec } from "./pod.ts";

/** The annotation of client-side apply. */
const annotationApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** Marks specs whose manifest names a dnsPolicy. Copies of a spec have it, JSON does not. */
const isExplicit = Symbol("explicit dnsPolicy");

export function markExplicitDnsPolicy(spec: PodSpec): void {
  Object.assign(spec, { [isExplicit]: true });
}

/**
 * True if the dnsPolicy of this pod was chosen explicitly. In the API a default looks like an explicit value, and
 * tools such as `kubectl run` write the default into all pods. Only the applied manifest shows an explicit choice.
 */
export function hasExplicitDnsPolicy(pod: Pod): boolean {
  if (pod.spec.dnsPolicy === "ClusterFirstWithHostNet") return true;
  if (isStatic(pod)) return isExplicit in pod.spec;
  return isInApplied(pod.metadata.annotations?.[annotationApplied]) || isManagedByApply(pod);
}

function isInApplied(text: string | undefined): boolean {
  if (text === undefined) return false;
  try {
    const applied = JSON.parse(text) as { spec?: { dnsPolicy?: unknown } } | null;
    return applied?.spec?.dnsPolicy !== undefined;
  } catch {
    return false;
  }
}

function isManagedByApply({ metadata }: Pod): boolean {
  const { managedFields = [] } = metadata as { managedFields?: { operation?: string; fieldsV1?: unknown }[] };
  return managedFields.some(({ operation, fieldsV1 }) => {
    const fields = fieldsV1 as { "f:spec"?: Record<string, unknown> } | undefined;
    return operation === "Apply" && fields?.["f:spec"]?.["f:dnsPolicy"] !== undefined;
  });
}
