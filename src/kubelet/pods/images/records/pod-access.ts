import { credentialHash, type TrackedCredential } from "../tracked-credential.ts";
import { keyOf } from "./merge-access.ts";
import type { PullAccess, PullAccount, PullSecretRecord } from "./pull-record.ts";

/** What a pod can show: its own credentials for an image. */
export interface PodCredentials {
  readonly secrets: readonly PullSecretRecord[];
  readonly serviceAccount: PullAccount | undefined;
}

/** Of credentials that every pod has, none says anything about this pod. */
export function podCredentials(credentials: readonly TrackedCredential[]): PodCredentials {
  const secrets: PullSecretRecord[] = [];
  let serviceAccount: PullAccount | undefined;
  for (const credential of credentials) {
    if (!credential.source) continue;
    const { kind, uid, namespace, name } = credential.source;
    if (kind === "secret") secrets.push({ uid, namespace, name, credentialHash: credentialHash(credential) });
    else serviceAccount ??= { uid, namespace, name };
  }
  return { secrets, serviceAccount };
}

/** Who may use an image that was pulled with this. */
export function accessBy(credential: TrackedCredential | undefined): PullAccess {
  if (!credential?.source) return { nodePodsAccessible: true };
  const { secrets, serviceAccount } = podCredentials([credential]);
  return serviceAccount ? { kubernetesServiceAccounts: [serviceAccount] } : { kubernetesSecrets: secrets };
}

export type AccessVerdict =
  | { readonly allowed: false }
  /** `learned`: a credential that was not known to be good, and is. */
  | { readonly allowed: true; readonly learned?: PullSecretRecord };

/** Past this many secrets of one image none is learned any more: namespaces may come and go without end. */
const learnUpTo = 100;

/** True if only what the pod can show decides. */
export function dependsOnPod(access: PullAccess): boolean {
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [] } = access;
  return !access.nodePodsAccessible && kubernetesSecrets.length + kubernetesServiceAccounts.length > 0;
}

/**
 * Whether what a pod can show is what the image was pulled with before: the same credential in any secret, or the same secret,
 * whose credential may have been renewed since.
 */
export function checkAccess(access: PullAccess, pod: PodCredentials): AccessVerdict {
  if (access.nodePodsAccessible) return { allowed: true };
  const { kubernetesSecrets: known = [], kubernetesServiceAccounts: accounts = [] } = access;
  const learns = known.length < learnUpTo;
  for (const secret of pod.secrets)
    for (const before of known) {
      const sameHash = before.credentialHash !== "" && before.credentialHash === secret.credentialHash;
      const sameSecret = keyOf(before) === keyOf(secret);
      if (sameHash) return sameSecret || !learns ? { allowed: true } : { allowed: true, learned: secret };
      if (sameSecret && learns) return { allowed: true, learned: secret };
    }
  const { serviceAccount } = pod;
  const isKnown = serviceAccount && accounts.some((account) => keyOf(account) === keyOf(serviceAccount));
  return { allowed: isKnown === true };
}
