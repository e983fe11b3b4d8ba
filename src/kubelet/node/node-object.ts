import type { NodeObject, Taint } from "./node-types.ts";

export const attachDetachAnnotation = "volumes.kubernetes.io/controller-managed-attach-detach";
export const providedIpAnnotation = "alpha.kubernetes.io/provided-node-ip";

const uninitialized: Taint = {
  key: "node.cloudprovider.kubernetes.io/uninitialized",
  value: "true",
  effect: "NoSchedule",
};

/** The configured identity of the node. */
export interface NodeSettings {
  readonly name: string;
  readonly hostname: string;
  /** The value of the label kubernetes.io/os: "linux". */
  readonly os: string;
  readonly arch: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** A cloud controller sets addresses and then removes the uninitialized taint. */
  readonly externalCloudProvider: boolean;
  readonly controllerAttachDetach: boolean;
  readonly providerId: string;
}

/** The Node to register, still without its status. */
export function initialNode(settings: NodeSettings): NodeObject {
  const { name, hostname, os, arch, labels, providerId } = settings;
  const taints = [...settings.taints, ...(settings.externalCloudProvider ? [uninitialized] : [])];
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": os,
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": hostname,
        "kubernetes.io/os": os,
        ...labels,
      },
      ...(settings.controllerAttachDetach && { annotations: { [attachDetachAnnotation]: "true" } }),
    },
    spec: { ...(providerId && { providerID: providerId }), ...(taints.length > 0 && { taints }) },
    status: {},
  };
}
