export const clientSigner = "kubernetes.io/kube-apiserver-client";
export const kubeletClientSigner = "kubernetes.io/kube-apiserver-client-kubelet";
export const kubeletServingSigner = "kubernetes.io/kubelet-serving";
export const legacySigner = "kubernetes.io/legacy-unknown";

export const csrResource = "certificatesigningrequests.certificates.k8s.io";
