import type { KubeTransport } from "../../../../lib/clients/kube/transport-interface.ts";

const requestTimeoutMs = 10_000;

export interface ClaimCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
  readonly message?: string;
  readonly [field: string]: unknown;
}

type ResourceList = Readonly<Record<string, string>>;

/** The parts of a PersistentVolumeClaim that a node reads. */
export interface Claim {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string; readonly controller?: boolean }[];
  };
  readonly spec: {
    readonly volumeName?: string;
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: ResourceList };
  };
  readonly status?: {
    readonly phase?: string;
    readonly capacity?: ResourceList;
    readonly allocatedResources?: ResourceList;
    readonly allocatedResourceStatuses?: Readonly<Record<string, string>>;
    readonly conditions?: readonly ClaimCondition[];
  };
}

export interface PersistentVolume {
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly capacity?: ResourceList;
    readonly claimRef?: { readonly namespace?: string; readonly name?: string; readonly uid?: string };
    readonly volumeMode?: "Filesystem" | "Block";
    readonly accessModes?: readonly string[];
    readonly mountOptions?: readonly string[];
    readonly [source: string]: unknown;
  };
}

/** Claims and volumes by name: a node may get the ones that its pods use, but may not list or watch any. */
export interface VolumeApi {
  claim(namespace: string, name: string, signal: AbortSignal): Promise<Claim>;
  volume(name: string, signal: AbortSignal): Promise<PersistentVolume>;
  /** A strategic merge patch of the claim's status. */
  patchClaimStatus(namespace: string, name: string, patch: object, signal: AbortSignal): Promise<Claim>;
}

export function kubeVolumeApi(transport: Pick<KubeTransport, "request">): VolumeApi {
  const claimPath = (namespace: string, name: string) =>
    `/api/v1/namespaces/${encodeURIComponent(namespace)}/persistentvolumeclaims/${encodeURIComponent(name)}`;
  const timeoutMs = requestTimeoutMs;
  return {
    claim: (namespace, name, signal) =>
      transport.request({ method: "GET", path: claimPath(namespace, name), signal, timeoutMs }),
    volume: (name, signal) => {
      const path = `/api/v1/persistentvolumes/${encodeURIComponent(name)}`;
      return transport.request({ method: "GET", path, signal, timeoutMs });
    },
    patchClaimStatus: (namespace, name, body, signal) =>
      transport.request({
        method: "PATCH",
        path: `${claimPath(namespace, name)}/status`,
        body,
        contentType: "application/strategic-merge-patch+json",
        signal,
        timeoutMs,
      }),
  };
}
