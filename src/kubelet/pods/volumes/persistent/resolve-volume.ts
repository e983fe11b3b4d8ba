import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { dnsSubdomain } from "../../../../lib/base/name-rules.ts";
import type { Pod, Volume } from "../../../../lib/model/pod.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import type { Claim, PersistentVolume, VolumeApi } from "./volume-api.ts";

const protection = "kubernetes.io/pvc-protection";

/** A supplemental group for pods that use the volume. */
const gidAnnotation = "pv.beta.kubernetes.io/gid";

export interface ResolvedClaim {
  readonly spec: VolumeSpec;
  readonly gid: string | undefined;
}

/**
 * The volume that a claim of a pod is bound to. Throws while it is not bound; the message is shown to users. The directory of the
 * volume and the spec have the name of the PersistentVolume.
 */
export async function resolveClaim(
  api: VolumeApi,
  pod: Pod,
  volume: Volume,
  signal: AbortSignal,
): Promise<ResolvedClaim> {
  const reference = claimReference(pod, volume);
  if (!reference) throw failure(`volume ${volume.name} does not name a claim`);
  const { namespace } = pod.metadata;
  const { claimName, readOnly, isEphemeral } = reference;
  const wrapErrors = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw failure(`error processing PVC ${namespace}/${claimName}: ${messageOf(error)}`, error);
    }
  };
  const claim = await wrapErrors(() => boundClaim(api, namespace, claimName, signal));
  if (isEphemeral && !isOwnedBy(claim, pod)) {
    const { name } = pod.metadata;
    const owner = `${namespace}/${name} (pod is not owner)`;
    throw failure(`PVC ${namespace}/${claimName} was not created for pod ${owner}`);
  }
  const pv = await wrapErrors(() => volumeOf(api, claim, signal));
  const mode = pv.spec.volumeMode ?? "Filesystem";
  const { name, uid, labels, annotations } = pv.metadata;
  const spec: VolumeSpec = {
    name,
    volume,
    readOnly,
    persistent: {
      volumeName: name,
      ...(uid !== undefined && { volumeUid: uid }),
      spec: pv.spec,
      claim: { namespace, name: claimName, uid: claim.metadata.uid },
      mode,
      ...(labels && { labels }),
      annotations,
      claimCapacity: claim.status?.capacity?.storage,
    },
  };
  return { spec, gid: annotations?.[gidAnnotation] };
}

/** The claim that a volume refers to. The claim of a generic ephemeral volume is named after pod and volume. */
function claimReference(
  pod: Pod,
  volume: Volume,
): { claimName: string; readOnly: boolean; isEphemeral: boolean } | undefined {
  const { persistentVolumeClaim: claim, ephemeral } = volume;
  if (claim) return { claimName: claim.claimName, readOnly: claim.readOnly ?? false, isEphemeral: false };
  if (!ephemeral) return undefined;
  return { claimName: `${pod.metadata.name}-${volume.name}`, readOnly: false, isEphemeral: true };
}

async function boundClaim(
  api: VolumeApi,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<Claim> {
  let claim: Claim;
  try {
    claim = await api.claim(namespace, name, signal);
  } catch (error) {
    throw failure(`failed to fetch PVC from API server: ${messageOf(error)}`, error);
  }
  const { deletionTimestamp, finalizers } = claim.metadata;
  // While it is protected, a pod that uses it may continue after a restart of the agent.
  if (deletionTimestamp && !finalizers?.includes(protection)) throw failure("PVC is being deleted");
  if (claim.status?.phase !== "Bound") throw failure("PVC is not bound");
  if (!claim.spec.volumeName) throw failure("PVC has empty pvc.Spec.VolumeName");
  return claim;
}

async function volumeOf(api: VolumeApi, claim: Claim, signal: AbortSignal): Promise<PersistentVolume> {
  const name = claim.spec.volumeName ?? "";
  // The directory of the volume has its name.
  const messages = dnsSubdomain(name);
  if (messages.length > 0)
    throw failure(`PVC has an invalid pvc.Spec.VolumeName ${name}: ${messages.join("; ")}`);
  let pv: PersistentVolume;
  try {
    pv = await api.volume(name, signal);
  } catch (error) {
    throw failure(`failed to fetch PV ${name} from API server: ${messageOf(error)}`, error);
  }
  if (pv.metadata.name !== name)
    throw failure(`the API server returned PV object ${pv.metadata.name} instead of ${name}`);
  const reference = pv.spec.claimRef;
  if (!reference) {
    const why = "it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim";
    throw failure(`found PV object ${name} but ${why}`);
  }
  if (reference.uid === claim.metadata.uid) return pv;
  const why = `its pv.Spec.ClaimRef.UID ${reference.uid ?? ""} does not point to claim.UID ${claim.metadata.uid}`;
  throw failure(`found PV object ${name} but ${why}`);
}

function isOwnedBy(claim: Claim, pod: Pod): boolean {
  const owners = claim.metadata.ownerReferences ?? [];
  return owners.some((owner) => owner.controller === true && owner.uid === pod.metadata.uid);
}

function failure(message: string, cause?: unknown): KubeletError {
  return new KubeletError("VolumeClaim", message, { cause });
}
