import { leaseNamespace } from "./node-api.ts";
import { apiMicroTime, type Lease } from "./node-types.ts";

export interface LeaseSettings {
  readonly nodeName: string;
  readonly durationSeconds: number;
}

/** A lease of this node, from now on. */
export function newLease(settings: LeaseSettings, nodeUid: string, nowMs: number): Lease {
  const { nodeName: name, durationSeconds } = settings;
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: leaseNamespace, ownerReferences: [ownerOf(name, nodeUid)] },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: durationSeconds,
      renewTime: apiMicroTime(nowMs),
    },
  };
}

/** The same lease, renewed. An owner is added where there is none yet and the node's UID is known. */
export function renewedLease(
  lease: Lease,
  settings: LeaseSettings,
  nodeUid: string | undefined,
  nowMs: number,
): Lease {
  const owned = (lease.metadata.ownerReferences ?? []).length > 0 || nodeUid === undefined;
  const ownerReferences = owned ? lease.metadata.ownerReferences : [ownerOf(settings.nodeName, nodeUid)];
  return {
    ...lease,
    metadata: { ...lease.metadata, ...(ownerReferences && { ownerReferences }) },
    spec: {
      ...lease.spec,
      holderIdentity: settings.nodeName,
      leaseDurationSeconds: settings.durationSeconds,
      renewTime: apiMicroTime(nowMs),
    },
  };
}

function ownerOf(name: string, uid: string) {
  return { apiVersion: "v1", kind: "Node", name, uid };
}
