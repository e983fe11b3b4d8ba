import { applyPodDefaults } from "./defaults/pod.ts";
import { markExplicitDnsPolicy } from "./explicit-dns-policy.ts";
import { annotationHash, annotationSource, type Pod, type PodUid } from "./pod.ts";
import { staticPodUid } from "./static-pod-uid/static-pod-uid.ts";
import { checkNoApiReferences } from "./validation/api-references.ts";
import { decodePod, type UndefaultedPod } from "./validation/decode-pod.ts";
import type { Problem } from "./validation/problem.ts";
import { checkPod } from "./validation/validate-pod.ts";

/** The origin of a manifest. It is part of the pod's identity: the same text in two files is two pods. */
export type ManifestOrigin =
  | { source: "file"; path: string }
  | { source: "http"; url: string }
  /** `name` is the name of the manifest, not of the pod. */
  | { source: "applied"; name: string };

/** Rules for the contents of manifests. */
export interface ManifestRules {
  /** Feature gate PreventStaticPodAPIReferences. */
  allowApiReferences?: boolean;
  /** Feature gate TaintTolerationComparisonOperators. */
  comparesTaints?: boolean;
  /** ConfigMaps and Secrets come from a directory of this node, so that pods may refer to them. */
  hasLocalObjects?: boolean;
}

export interface StaticPodOptions extends ManifestRules {
  nodeName: string;
  origin: ManifestOrigin;
}

export type StaticPodResult = { pod: Pod; unknownFields: string[] } | { problems: Problem[] };

/** Creates the Pod of a manifest on this node, or reports all validation errors. */
export function makeStaticPod(input: unknown, options: StaticPodOptions, at = ""): StaticPodResult {
  const decoded = decodePod(input, at);
  if ("problems" in decoded) return decoded;
  const written = decoded.pod;
  const prefix = at === "" ? "" : `${at}.`;
  if (!written.metadata.name) {
    const message = "Required value: name is needed for the pod";
    return { problems: [{ path: `${prefix}metadata.name`, message }] };
  }
  const pod = onThisNode(written, input, options);
  const problems = checkPod(pod, undefined, options);
  if (!options.allowApiReferences) problems.push(...checkNoApiReferences(pod, options.hasLocalObjects));
  if (problems.length === 0) return { pod, unknownFields: decoded.unknownFields };
  return { problems: problems.map(({ path, message }) => ({ path: prefix + path, message })) };
}

function onThisNode(written: UndefaultedPod, input: unknown, { nodeName, origin }: StaticPodOptions): Pod {
  const pod = applyPodDefaults(written) as Pod;
  const uid = (written.metadata.uid || staticPodUid(pod, input, originText(origin, nodeName))) as PodUid;
  pod.metadata.uid = uid;
  // Unique in the cluster, for the mirror pod.
  pod.metadata.name = `${pod.metadata.name}-${nodeName.toLowerCase()}`;
  pod.metadata.namespace ||= "default";
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [annotationHash]: uid,
    [annotationSource]: origin.source,
  };
  pod.spec.nodeName = nodeName;
  if (origin.source !== "http") tolerateNoExecute(pod);
  pod.status = { phase: "Pending" };
  if (written.spec.dnsPolicy) markExplicitDnsPolicy(pod.spec);
  return pod;
}

/** Static pods are not evicted by NoExecute taints. */
function tolerateNoExecute(pod: Pod): void {
  const others = (pod.spec.tolerations ?? []).filter(
    (t) => t.key || t.value || t.operator !== "Exists" || t.effect !== "NoExecute",
  );
  pod.spec.tolerations = [...others, { operator: "Exists", effect: "NoExecute" }];
}

function originText(origin: ManifestOrigin, nodeName: string): string {
  switch (origin.source) {
    case "file":
      return `host:${nodeName}file:${origin.path}`;
    case "http":
      return `url:${origin.url}`;
    case "applied":
      return `host:${nodeName}applied:${origin.name}`;
    default:
      return origin satisfies never;
  }
}
