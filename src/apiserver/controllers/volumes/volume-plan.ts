import type { ApiObject } from "../../storage/object.ts";
import { bestVolume, classOf, isClaimedBy, phaseOf } from "./match.ts";

export type VolumeStep =
  | { readonly do: "bind"; readonly claim: ApiObject; readonly volume: ApiObject }
  | {
      readonly do: "set phase";
      readonly of: "volume" | "claim";
      readonly object: ApiObject;
      readonly phase: string;
      readonly message?: string;
    }
  /** Requests a volume for the PVC from the external provisioner. */
  | { readonly do: "provision"; readonly claim: ApiObject; readonly provisioner: string }
  | {
      readonly do: "event";
      readonly claim: ApiObject;
      readonly type: "Normal" | "Warning";
      readonly reason: string;
      readonly message: string;
    };

export interface VolumeState {
  readonly claims: readonly ApiObject[];
  readonly volumes: readonly ApiObject[];
  readonly classes: readonly ApiObject[];
  /** PVCs that pods use, as "namespace/name". */
  readonly used: ReadonlySet<string>;
}

export const provisionerAnnotation = "volume.kubernetes.io/storage-provisioner";
const noProvisioner = "kubernetes.io/no-provisioner";

/** The bindings of PVCs to PVs, and the phases of all of them. */
export function planVolumes(state: VolumeState): VolumeStep[] {
  const free = new Set(state.volumes);
  const steps: VolumeStep[] = [];
  for (const claim of state.claims) {
    if (claim.metadata.deletionTimestamp !== undefined && phaseOf(claim) === "Pending") continue;
    const step = stepOf(claim, { ...state, volumes: [...free] });
    if (step === undefined) continue;
    if (step.do === "bind") free.delete(step.volume);
    steps.push(step);
  }
  for (const volume of free) {
    const phase = volumePhase(volume, state.claims);
    if (phase !== undefined && phase !== phaseOf(volume))
      steps.push({ do: "set phase", of: "volume", object: volume, phase });
  }
  return steps;
}

function stepOf(claim: ApiObject, state: VolumeState): VolumeStep | undefined {
  const name: string = claim.spec?.volumeName ?? "";
  if (phaseOf(claim) === "Bound" || phaseOf(claim) === "Lost") return boundStep(claim, name, state);
  if (name !== "") {
    const volume = state.volumes.find(({ metadata }) => metadata.name === name);
    const isBindable = volume !== undefined && (!volume.spec?.claimRef || isClaimedBy(volume, claim));
    return volume !== undefined && isBindable ? { do: "bind", claim, volume } : undefined;
  }
  const storageClass = state.classes.find(({ metadata }) => metadata.name === classOf(claim));
  const waits = storageClass?.volumeBindingMode === "WaitForFirstConsumer";
  if (waits && !state.used.has(`${claim.metadata.namespace}/${claim.metadata.name}`))
    return {
      do: "event",
      claim,
      type: "Normal",
      reason: "WaitForFirstConsumer",
      message: "waiting for first consumer to be created before binding",
    };
  const volume = bestVolume(claim, state.volumes);
  return volume === undefined ? withoutVolume(claim, storageClass) : { do: "bind", claim, volume };
}

function boundStep(claim: ApiObject, name: string, state: VolumeState): VolumeStep | undefined {
  const volume = state.volumes.find(({ metadata }) => metadata.name === name);
  if (volume === undefined || !isClaimedBy(volume, claim)) {
    if (phaseOf(claim) === "Lost") return undefined;
    const message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
    return { do: "set phase", of: "claim", object: claim, phase: "Lost", message };
  }
  const complete = phaseOf(claim) === "Bound" && volume.spec?.claimRef?.uid === claim.metadata.uid;
  return complete ? undefined : { do: "bind", claim, volume };
}

/** Requests provisioning, or reports why no volume can be bound to the PVC. */
function withoutVolume(claim: ApiObject, storageClass: ApiObject | undefined): VolumeStep | undefined {
  const event = (type: "Normal" | "Warning", reason: string, message: string): VolumeStep => ({
    do: "event",
    claim,
    type,
    reason,
    message,
  });
  const name = classOf(claim);
  if (name === "")
    return event(
      "Normal",
      "FailedBinding",
      "no persistent volumes available for this claim and no storage class is set",
    );
  if (storageClass === undefined)
    return event("Warning", "ProvisioningFailed", `storageclass.storage.k8s.io "${name}" not found`);
  const provisioner = String(storageClass.provisioner ?? "");
  if (provisioner === noProvisioner)
    return event("Normal", "FailedBinding", "no persistent volumes available for this claim");
  if (claim.metadata.annotations?.[provisionerAnnotation] !== provisioner)
    return { do: "provision", claim, provisioner };
  return event(
    "Normal",
    "ExternalProvisioning",
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
  );
}

/** PVs of deleted PVCs are Released until the claimRef is removed: data is kept. */
function volumePhase(volume: ApiObject, claims: readonly ApiObject[]): string | undefined {
  const ref = volume.spec?.claimRef;
  if (!ref) return "Available";
  const claim = claims.find((one) => isClaimedBy(volume, one));
  if (claim !== undefined) {
    const bound = ref.uid === claim.metadata.uid && claim.spec?.volumeName === volume.metadata.name;
    return bound ? "Bound" : phaseOf(volume) === "Pending" ? "Available" : undefined;
  }
  // Reserved for a PVC that does not exist yet.
  return ref.uid ? "Released" : "Available";
}
