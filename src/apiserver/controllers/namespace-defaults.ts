import type { DefaultObject } from "./create-defaults.ts";

/** The service account of pods that name none. */
export const defaultServiceAccount: DefaultObject = {
  resource: "serviceaccounts",
  draft: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } },
  reconciledFields: [],
};

/** The CA bundle with which pods verify this API server. */
export function rootCaConfigMap(rootCa: string): DefaultObject {
  return {
    resource: "configmaps",
    draft: {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "kube-root-ca.crt",
        annotations: {
          "kubernetes.io/description":
            "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
        },
      },
      data: { "ca.crt": rootCa },
    },
    reconciledFields: ["data"],
  };
}
