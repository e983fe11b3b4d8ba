import type { Pod } from "../../../lib/model/pod.ts";

const annotationPrefix = "container.apparmor.security.beta.kubernetes.io/";

/** True if the pod or one of its containers has an AppArmor profile. */
export function needsAppArmor(pod: Pod): boolean {
  const { securityContext, initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const contexts = [
    securityContext,
    ...[...initContainers, ...containers, ...ephemeralContainers].map((c) => c.securityContext),
  ];
  if (contexts.some((c) => c?.appArmorProfile && c.appArmorProfile.type !== "Unconfined")) return true;
  return Object.entries(pod.metadata.annotations ?? {}).some(
    ([key, value]) => key.startsWith(annotationPrefix) && value !== "unconfined",
  );
}
