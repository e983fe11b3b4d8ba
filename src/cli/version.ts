/** The version of Kubernetes whose kubelet this is a drop-in for. */
export const version = "v1.36.4";
