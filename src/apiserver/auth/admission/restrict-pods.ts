import type { AdmissionRequest } from "../../access.ts";
import type { Objects } from "../../definition.ts";
import { same } from "../../kinds/same.ts";
import { forbidden, notFound } from "../problems.ts";
import { apiReference, mirrorAnnotation } from "./mirror-pod.ts";

/** A node creates mirror pods of its static pods, updates the status of its pods, and deletes them: nothing else. */
export async function restrictPod(node: string, request: AdmissionRequest, objects: Objects): Promise<void> {
  switch (request.subresource) {
    case "":
      if (request.operation === "CREATE") return await restrictCreation(node, request, objects);
      if (request.operation === "DELETE") return await restrictDeletion(node, request, objects);
      throw forbidden(
        request,
        `unexpected operation "${request.operation}", node "${node}" can only create and delete mirror pods`,
      );
    case "status":
      return restrictStatus(node, request);
    case "eviction":
      return await restrictEviction(node, request, objects);
    default:
      throw forbidden(
        request,
        `unexpected pod subresource "${request.subresource}", only 'status' and 'eviction' are allowed`,
      );
  }
}

async function restrictCreation(node: string, request: AdmissionRequest, objects: Objects): Promise<void> {
  const forbid = (why: string) => forbidden(request, why);
  const { metadata, spec = {} } = request.object ?? { metadata: { name: "", uid: "" } };
  if (metadata.annotations?.[mirrorAnnotation] === undefined)
    throw forbid(
      `pod does not have "${mirrorAnnotation}" annotation, node "${node}" can only create mirror pods`,
    );
  if (spec.nodeName !== node)
    throw forbid(`node "${node}" can only create pods with spec.nodeName set to itself`);
  const [owner, ...others] = metadata.ownerReferences ?? [];
  if (others.length > 0)
    throw forbid(`node "${node}" can only create pods with a single owner reference set to itself`);
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node)
    throw forbid(`node "${node}" can only create pods with an owner reference set to itself`);
  if (!owner.controller)
    throw forbid(`node "${node}" can only create pods with a controller owner reference set to itself`);
  if (owner.blockOwnerDeletion)
    throw forbid(`node "${node}" must not set blockOwnerDeletion on an owner reference`);
  const current = await objects.get({ resource: "nodes", namespace: "", name: node });
  if (!current) throw notFound("nodes", node);
  if (owner.uid !== current.metadata.uid)
    throw forbid(`node ${node} UID mismatch: expected ${owner.uid} got ${current.metadata.uid}`);
  const reference = apiReference({ spec });
  if (reference.kind === "unknown")
    throw forbid(`error checking mirror pod for API references: ${reference.problem}`);
  if (reference.kind === "found")
    throw forbid(`node "${node}" can not create pods that reference ${reference.resource}`);
}

async function restrictDeletion(node: string, request: AdmissionRequest, objects: Objects): Promise<void> {
  if ((await nodeOf(request, request.name, objects)) !== node)
    throw forbidden(request, `node "${node}" can only delete pods with spec.nodeName set to itself`);
}

async function restrictEviction(node: string, request: AdmissionRequest, objects: Objects): Promise<void> {
  if (request.operation !== "CREATE") throw forbidden(request, `unexpected operation ${request.operation}`);
  const name = request.name || request.object?.metadata.name;
  if (!name) throw forbidden(request, "could not determine pod from request data");
  if ((await nodeOf(request, name, objects)) !== node)
    throw forbidden(request, `node ${node} can only evict pods with spec.nodeName set to itself`);
}

function restrictStatus(node: string, request: AdmissionRequest): void {
  if (request.operation !== "UPDATE") throw forbidden(request, `unexpected operation "${request.operation}"`);
  const { oldObject: oldPod, object: newPod } = request;
  if (oldPod?.spec?.nodeName !== node)
    throw forbidden(
      request,
      `node "${node}" can only update pod status for pods with spec.nodeName set to itself`,
    );
  if (!same(oldPod.metadata.labels, newPod?.metadata.labels))
    throw forbidden(request, `node "${node}" cannot update labels through pod status`);
  if (!same(oldPod.status?.resourceClaimStatuses, newPod?.status?.resourceClaimStatuses))
    throw forbidden(request, `node "${node}" cannot update resource claim statues`);
  if (!same(oldPod.status?.extendedResourceClaimStatus, newPod?.status?.extendedResourceClaimStatus))
    throw forbidden(request, `node "${node}" cannot update extended resource claim status`);
}

async function nodeOf(
  request: AdmissionRequest,
  name: string,
  objects: Objects,
): Promise<string | undefined> {
  const pod = await objects.get({ resource: "pods", namespace: request.namespace, name });
  if (!pod) throw notFound("pods", name);
  return pod.spec.nodeName;
}
