import type { WallTime } from "../../lib/base/time.ts";
import { leaseNamespace } from "./node-api.ts";
import { apiMicroTime, type Lease } from "./node-types.ts";

export interface LeaseSettings {
  readonly nodeName: string;
  readonly durationSeconds: number;
}

/** A lease of this node, from now on. */
export function newLease(settings: LeaseSettings, nodeUid: string, now: WallTime): Lease {
  const { nodeName: name, durationSeconds } = settings;
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: leaseNamespace, ownerReferences: [ownerOf(name, nodeUid)] },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: durationSeconds,
      renewTime: apiMicroTime(now),
    },
  };
}

/** The same lease, renewed. An owner is added where there is none yet and the node's UID is known. */
export function renewedLease(
  lease: Lease,
  settings: LeaseSettings,
  nodeUid: string | undefined,
  now: WallTime,
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
      renewTime: apiMicroTime(now),
    },
  };
}

function ownerOf(name: string, uid: string) {
  return { apiVersion: "v1", kind: "Node", name, uid };
}
