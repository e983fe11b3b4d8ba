import type { PodSpec, Volume } from "../../../../lib/model/pod.ts";

const prefix = "kube-api-access-";
const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
/** An hour and a little: tokens that were mounted by default are distinguished by it. */
const expirationSeconds = 3607;

/** Mounts the token in each container, except where another volume is mounted at that path. */
export function mountToken(spec: PodSpec, newName: (base: string) => string): void {
  const present = spec.volumes?.find(({ name }) => name.startsWith(prefix));
  const name = present?.name ?? newName(prefix);
  let needed = false;
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    if (container.volumeMounts?.some((mount) => mount.mountPath === mountPath)) continue;
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
    needed = true;
  }
  if (needed && !present) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: expirationSeconds, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
      defaultMode: 0o644,
    },
  };
}
