import { amountOf } from "../../kinds/quantities.ts";
import { compareText } from "../../patch/text-order.ts";
import { labelSelectorOf, matchesLabels } from "../../selectors/label-selector.ts";
import type { ApiObject } from "../../storage/object.ts";

const classAnnotation = "volume.beta.kubernetes.io/storage-class";

/** A new PV without a phase is as available as one whose phase is Available. */
const freePhases = ["Available", "Pending"];

/** The class of a PV or PVC: the deprecated annotation takes precedence over the field. */
export function classOf(object: ApiObject): string {
  const { metadata, spec } = object;
  return metadata.annotations?.[classAnnotation] ?? spec?.storageClassName ?? "";
}

/** True if the claimRef of a PV is this PVC, by name or by uid. */
export function isClaimedBy(volume: ApiObject, claim: ApiObject): boolean {
  const ref = volume.spec?.claimRef;
  if (!ref || ref.name !== claim.metadata.name || ref.namespace !== claim.metadata.namespace) return false;
  return !ref.uid || ref.uid === claim.metadata.uid;
}

/** The PV for a PVC: one with its claimRef, or else the smallest available one that is large enough. */
export function bestVolume(claim: ApiObject, volumes: readonly ApiObject[]): ApiObject | undefined {
  const fitting = volumes.filter((volume) => suits(claim, volume));
  const own = fitting.find((volume) => isClaimedBy(volume, claim));
  if (own !== undefined) return own;
  return fitting
    .filter((volume) => !volume.spec?.claimRef && freePhases.includes(phaseOf(volume)))
    .sort((a, b) => {
      const [left, right] = [sizeOf(a), sizeOf(b)];
      return left === right ? compareText(a.metadata.name, b.metadata.name) : left < right ? -1 : 1;
    })[0];
}

export function phaseOf(object: ApiObject): string {
  return object.status?.phase ?? "";
}

function sizeOf(volume: ApiObject): bigint {
  return amountOf(volume.spec?.capacity?.storage);
}

function suits(claim: ApiObject, volume: ApiObject): boolean {
  const claimSpec = claim.spec ?? {};
  const has = volume.spec ?? {};
  if (volume.metadata.deletionTimestamp !== undefined) return false;
  const modes: readonly string[] = has.accessModes ?? [];
  return (
    (has.volumeMode ?? "Filesystem") === (claimSpec.volumeMode ?? "Filesystem") &&
    sizeOf(volume) >= amountOf(claimSpec.resources?.requests?.storage) &&
    (claimSpec.accessModes ?? []).every((mode: string) => modes.includes(mode)) &&
    classOf(volume) === classOf(claim) &&
    (claimSpec.selector === undefined ||
      matchesLabels(labelSelectorOf(claimSpec.selector), volume.metadata.labels ?? {}))
  );
}
