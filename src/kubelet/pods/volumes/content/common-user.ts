import type { Pod } from "../../../../lib/model/pod.ts";

/** The user that all containers of the pod run as, if each says so and it is the same one. */
export function commonUser({ spec }: Pod): number | undefined {
  const containers = [
    ...(spec.initContainers ?? []),
    ...spec.containers,
    ...(spec.ephemeralContainers ?? []),
  ];
  const users = new Set(
    containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}
