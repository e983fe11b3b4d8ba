/** The version of Kubernetes whose kubelet this is a drop-in for. */
export const version = "v1.36.4";

declare const KUBELET_TS_VERSION: string | undefined;

/** Our own version; the build puts it in. */
export const packageVersion = typeof KUBELET_TS_VERSION === "string" ? KUBELET_TS_VERSION : "0.0.0-dev";
