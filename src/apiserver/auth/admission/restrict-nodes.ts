import type { AdmissionRequest } from "../../access.ts";
import { same } from "../../kinds/same.ts";
import { forbidden } from "../problems.ts";

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

interface NodeSpec {
  readonly taints?: unknown;
  readonly configSource?: unknown;
}

/** A node may write its own Node object, but nothing that would attract workloads or grant it permissions. */
export function restrictNode(node: string, request: AdmissionRequest): void {
  const name = request.name || request.object?.metadata.name || "";
  if (name !== node) throw forbidden(request, `node "${node}" is not allowed to modify node "${name}"`);
  if (request.operation === "CREATE") restrictCreation(node, request);
  if (request.operation === "UPDATE") restrictUpdate(node, request);
}

function restrictCreation(node: string, request: AdmissionRequest): void {
  const spec = (request.object?.spec ?? {}) as NodeSpec;
  if (spec.configSource)
    throw forbidden(request, `node "${node}" is not allowed to create pods with a non-nil configSource`);
  const labels = forbiddenLabels(request.object?.metadata.labels, undefined);
  if (labels.length > 0)
    throw forbidden(
      request,
      `node "${node}" is not allowed to set the following labels: ${labels.join(", ")}`,
    );
}

function restrictUpdate(node: string, request: AdmissionRequest): void {
  const newNode = request.object;
  const oldNode = request.oldObject;
  const spec = (newNode?.spec ?? {}) as NodeSpec;
  const old = (oldNode?.spec ?? {}) as NodeSpec;
  if (spec.configSource && !same(spec.configSource, old.configSource))
    throw forbidden(
      request,
      `node "${node}" is not allowed to update configSource to a new non-nil configSource`,
    );
  if (!same(spec.taints, old.taints))
    throw forbidden(request, `node "${node}" is not allowed to modify taints`);
  if (!same(newNode?.metadata.ownerReferences, oldNode?.metadata.ownerReferences))
    throw forbidden(request, `node "${node}" is not allowed to modify ownerReferences`);
  const labels = forbiddenLabels(
    newNode?.metadata.labels,
    oldNode?.metadata.labels as Record<string, string> | undefined,
  );
  if (labels.length > 0) throw forbidden(request, `is not allowed to modify labels: ${labels.join(", ")}`);
}

/** The changed labels that a node may not set on itself, sorted: they steer scheduling. */
function forbiddenLabels(labels: Labels, oldLabels: Labels): string[] {
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
