import type { AdmissionRequest } from "../../access.ts";
import { same } from "../../kinds/same.ts";
import { forbidden } from "../problems.ts";
import { forbiddenLabels } from "./node-labels.ts";

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
