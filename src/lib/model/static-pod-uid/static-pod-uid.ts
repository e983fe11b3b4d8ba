import { fnv128a } from "../fnv.ts";
import type { PodSpec } from "../pod.ts";
import { goPrint } from "./go-print.ts";

interface WrittenResources {
  readonly requests?: Readonly<Record<string, unknown>> | null;
  readonly limits?: Readonly<Record<string, unknown>> | null;
}

interface Written {
  readonly resources?: WrittenResources | null;
  readonly containers?: readonly { readonly resources?: WrittenResources | null }[];
}

interface StaticPod {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
}

/** Legacy annotations, which the reference kubelet drops. */
const dropped = /^pod\.(alpha|beta)\.kubernetes\.io\/init-container(s|-statuses)$/;

/**
 * The UID that the reference kubelet v1.36 gives to the pod of a manifest, so that either may take over the static pods
 * of the other: a hash of its internal form of the pod, and of its origin. `written` is the manifest, `pod`
 * the same with defaults.
 */
export function staticPodUid(pod: StaticPod, written: unknown, origin: string): string {
  return fnv128a(goPod(pod, written) + origin);
}

/** The pod with all of its fields and their types. */
export function goPod({ metadata, spec }: StaticPod, written: unknown): string {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace, hostUsers } = spec;
  const grace = spec.terminationGracePeriodSeconds;
  const inCore = {
    ...spec,
    terminationGracePeriodSeconds: grace != null && grace < 0 ? 1 : grace,
    securityContext: {
      ...spec.securityContext,
      hostNetwork,
      hostPID,
      hostIPC,
      shareProcessNamespace,
      hostUsers,
    },
  };
  const parts = [
    "TypeMeta:(v1.TypeMeta){Kind:(string) APIVersion:(string)}",
    `ObjectMeta:${goPrint("v1.ObjectMeta", { ...metadata, annotations: withoutLegacy(metadata.annotations) }, undefined)}`,
    `Spec:${goPrint("PodSpec", inCore, withSums(spec, (written as { spec?: Written } | undefined)?.spec ?? {}))}`,
    `Status:${goPrint("PodStatus", {}, undefined)}`,
  ];
  return `(*core.Pod){${parts.join(" ")}}`;
}

function withoutLegacy(annotations: Readonly<Record<string, string>> | undefined) {
  return (
    annotations && Object.fromEntries(Object.entries(annotations).filter(([name]) => !dropped.test(name)))
  );
}

/** Pod-level CPU and memory requests default to the sum over the containers. Init containers are not included here. */
function withSums(spec: PodSpec, written: Written): Written {
  const { resources } = written;
  if (!resources || !spec.resources?.requests) return written;
  const of = (written.containers ?? []).map((c) => ({ ...c.resources?.limits, ...c.resources?.requests }));
  const sums = ["cpu", "memory"].flatMap((name) => {
    const texts = of.flatMap((list) => (list[name] === undefined ? [] : [list[name]]));
    return texts.length > 0 ? [[name, texts] as const] : [];
  });
  const requests = { ...resources.limits, ...Object.fromEntries(sums), ...resources.requests };
  return { ...written, resources: { ...resources, requests } };
}
