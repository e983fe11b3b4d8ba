const kubeletLabels: readonly string[] = [
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
];
const kubeletDomains = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const restricted = "node-restriction.kubernetes.io";

type Labels = Readonly<Record<string, string>> | undefined;

/** The changed labels that a node may not set on itself, sorted: they steer scheduling. */
export function forbiddenLabels(labels: Labels, oldLabels: Labels): string[] {
  const keys = new Set([...Object.keys(labels ?? {}), ...Object.keys(oldLabels ?? {})]);
  return [...keys]
    .filter((key) => labels?.[key] !== oldLabels?.[key] && !mayChange(key))
    .sort((a, b) => (a < b ? -1 : 1));
}

function mayChange(key: string): boolean {
  const slash = key.indexOf("/");
  const domain = slash < 0 ? "" : key.slice(0, slash);
  if (within(domain, restricted)) return false;
  if (!within(domain, "kubernetes.io") && !within(domain, "k8s.io")) return true;
  return kubeletLabels.includes(key) || kubeletDomains.some((allowed) => within(domain, allowed));
}

function within(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}
