import { messageOf } from "../../../lib/base/errors.ts";
import type { Admission, AdmissionRequest } from "../../access.ts";
import type { Objects } from "../../definition.ts";
import { same } from "../../kinds/same.ts";
import { parseSpecRequest } from "../csr/parse-spec.ts";
import { kubeletClientSigner, kubeletServingSigner } from "../csr/signers.ts";
import { nodeNameOf } from "../names.ts";
import { forbidden, qualified } from "../problems.ts";
import { restrictNode } from "./restrict-nodes.ts";
import { restrictPodCertificate } from "./restrict-pod-certificates.ts";
import { restrictPod } from "./restrict-pods.ts";
import { restrictToken } from "./restrict-tokens.ts";

/** Restricts a node to its own objects, where the authorizer cannot, since it does not see them. Other callers are not restricted. */
export class NodeRestriction implements Admission {
  readonly #objects: () => Objects;

  constructor(o: { objects: () => Objects }) {
    this.#objects = o.objects;
  }

  async admit(request: AdmissionRequest): Promise<void> {
    const node = nodeNameOf(request.caller);
    if (node === undefined) return;
    if (node === "") throw forbidden(request, `could not determine node from user "${request.caller.name}"`);
    switch (qualified(request.resource, request.group)) {
      case "pods":
        return await restrictPod(node, request, this.#objects());
      case "nodes":
        return restrictNode(node, request);
      case "persistentvolumeclaims":
        return restrictClaim(node, request);
      case "serviceaccounts":
        return await restrictToken(node, request, this.#objects());
      case "leases.coordination.k8s.io":
        return restrictLease(node, request);
      case "csinodes.storage.k8s.io":
        if (nameOf(request) === node) return;
        throw forbidden(request, "can only access CSINode with the same name as the requesting node");
      case "resourceslices.resource.k8s.io":
        return restrictSlice(node, request);
      case "certificatesigningrequests.certificates.k8s.io":
        return restrictRequest(node, request);
      case "podcertificaterequests.certificates.k8s.io":
        return await restrictPodCertificate(node, request, this.#objects());
      default:
    }
  }
}

function nameOf(request: AdmissionRequest): string {
  return request.operation === "CREATE" ? (request.object?.metadata.name ?? "") : request.name;
}

function restrictLease(node: string, request: AdmissionRequest): void {
  if (request.namespace !== "kube-node-lease")
    throw forbidden(request, 'can only access leases in the "kube-node-lease" system namespace');
  if (nameOf(request) !== node)
    throw forbidden(request, "can only access node lease with the same name as the requesting node");
}

/** Changes of existing slices are restricted by the authorizer. */
function restrictSlice(node: string, request: AdmissionRequest): void {
  const nodeOf = (slice: unknown) => (slice as { spec?: { nodeName?: string } } | undefined)?.spec?.nodeName;
  if (request.operation === "CREATE" && nodeOf(request.object) !== node)
    throw forbidden(request, "can only create ResourceSlice with the same NodeName as the requesting node");
  if (request.operation === "DELETE" && nodeOf(request.oldObject) !== node)
    throw forbidden(request, "can only delete ResourceSlice with the same NodeName as the requesting node");
}

/** After expanding a filesystem, a node reports it in the PVC's status, and changes nothing else. */
function restrictClaim(node: string, request: AdmissionRequest): void {
  if (request.subresource !== "status") throw forbidden(request, "may only update PVC status");
  if (request.operation !== "UPDATE") throw forbidden(request, `unexpected operation "${request.operation}"`);
  const [newPart, oldPart] = [fixedPart(request.object), fixedPart(request.oldObject)];
  const changed = Object.keys({ ...newPart, ...oldPart }).filter(
    (part) => !same(newPart[part], oldPart[part]),
  );
  if (changed.length > 0)
    throw forbidden(
      request,
      `node "${node}" is not allowed to update fields other than status.quantity and status.conditions: ${changed.join(", ")}`,
    );
}

function fixedPart(object: object | undefined): Record<string, unknown> {
  const { apiVersion: _5, kind: _6, ...all } = { ...object } as Record<string, unknown>;
  const { metadata = {}, status = {}, ...rest } = all as Record<string, Record<string, unknown>>;
  const { resourceVersion: _, managedFields: __, ...fixedMeta } = metadata;
  const {
    capacity: _1,
    conditions: _2,
    allocatedResourceStatuses: _3,
    allocatedResources: _4,
    ...fixed
  } = status;
  return { ...rest, metadata: fixedMeta, status: fixed };
}

function restrictRequest(node: string, request: AdmissionRequest): void {
  if (request.operation !== "CREATE") return;
  const spec = (request.object?.spec ?? {}) as { signerName?: string; request?: string };
  if (spec.signerName !== kubeletServingSigner && spec.signerName !== kubeletClientSigner) return;
  let commonName: string;
  try {
    commonName = parseSpecRequest(spec.request).subject.commonName;
  } catch (error) {
    throw forbidden(request, `unable to parse csr: ${messageOf(error)}`);
  }
  if (commonName !== `system:node:${node}`)
    throw forbidden(request, `can only create a node CSR with CN=system:node:${node}`);
}
