import { labelValue, qualifiedName } from "../../base/name-rules.ts";

/** Kubernetes labels that a kubelet may set on its node. */
const allowed = [
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "kubernetes.io/arch",
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
];
const allowedPrefixes = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/** Why the node cannot register with these labels, or undefined. */
export function nodeLabelProblem(labels: Readonly<Record<string, string>>): string | undefined {
  const problems: string[] = [];
  for (const [key, value] of Object.entries(labels)) {
    const prefix = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
    for (const message of qualifiedName(key)) problems.push(`${JSON.stringify(key)}: ${message}`);
    for (const message of labelValue(value)) problems.push(`${JSON.stringify(value)}: ${message}`);
    if (
      isWithin(prefix, ["kubernetes.io", "k8s.io"]) &&
      !allowed.includes(key) &&
      !isWithin(prefix, allowedPrefixes)
    ) {
      problems.push(`the kubelet may not set the label ${JSON.stringify(key)} on its node`);
    }
  }
  return problems.length > 0 ? problems.join(", ") : undefined;
}

function isWithin(prefix: string, domains: readonly string[]): boolean {
  return domains.some((domain) => prefix === domain || prefix.endsWith(`.${domain}`));
}
