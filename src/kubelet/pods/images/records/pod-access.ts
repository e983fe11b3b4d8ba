import { credentialHash, type TrackedCredential } from "../tracked-credential.ts";
import { keyOf } from "./merge-access.ts";
import type { ImagePullCredentials, ImagePullSecret, PullObjectCoordinates } from "./pull-record.ts";

/** A pod's own credentials for an image. */
export interface PodCredentials {
  readonly secrets: readonly ImagePullSecret[];
  readonly serviceAccount: PullObjectCoordinates | undefined;
}

/** Credentials of the node are omitted: every pod has them. */
export function podCredentials(credentials: readonly TrackedCredential[]): PodCredentials {
  const secrets: ImagePullSecret[] = [];
  let serviceAccount: PullObjectCoordinates | undefined;
  for (const credential of credentials) {
    if (!credential.source) continue;
    const { kind, uid, namespace, name } = credential.source;
    if (kind === "secret") secrets.push({ uid, namespace, name, credentialHash: credentialHash(credential) });
    else serviceAccount ??= { uid, namespace, name };
  }
  return { secrets, serviceAccount };
}

/** The pods that may use an image that was pulled with this credential. */
export function accessFrom(credential: TrackedCredential | undefined): ImagePullCredentials {
  if (!credential?.source) return { nodePodsAccessible: true };
  const { secrets, serviceAccount } = podCredentials([credential]);
  return serviceAccount ? { kubernetesServiceAccounts: [serviceAccount] } : { kubernetesSecrets: secrets };
}

export type AccessDecision =
  | { readonly allowed: false }
  /** `newSecret`: a secret that was not recorded yet and has access. */
  | { readonly allowed: true; readonly newSecret?: ImagePullSecret };

/** No more secrets than this are recorded for one image: namespaces may be created and deleted without end. */
const maxRecordedSecrets = 100;

/** True if access depends on the credentials of the pod. */
export function dependsOnPod(access: ImagePullCredentials): boolean {
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [] } = access;
  return !access.nodePodsAccessible && kubernetesSecrets.length + kubernetesServiceAccounts.length > 0;
}

/**
 * Whether the pod has a credential that the image was pulled with before: the same credential in any secret, or the same
 * secret, whose credential may have been renewed since.
 */
export function checkAccess(access: ImagePullCredentials, pod: PodCredentials): AccessDecision {
  if (access.nodePodsAccessible) return { allowed: true };
  const { kubernetesSecrets: known = [], kubernetesServiceAccounts: accounts = [] } = access;
  const mayRecord = known.length < maxRecordedSecrets;
  for (const secret of pod.secrets)
    for (const previous of known) {
      const sameHash = previous.credentialHash !== "" && previous.credentialHash === secret.credentialHash;
      const sameSecret = keyOf(previous) === keyOf(secret);
      if (sameHash)
        return sameSecret || !mayRecord ? { allowed: true } : { allowed: true, newSecret: secret };
      if (sameSecret && mayRecord) return { allowed: true, newSecret: secret };
    }
  const { serviceAccount } = pod;
  const isKnown = serviceAccount && accounts.some((account) => keyOf(account) === keyOf(serviceAccount));
  return { allowed: isKnown === true };
}
