import { httpStatusOf } from "../../../lib/base/errors.ts";
import type { Objects } from "../../definition.ts";
import { claimProtection, volumeProtection } from "../../kinds/volume-fields.ts";
import { type ApiObject, typed } from "../../storage/object.ts";
import type { ObjectCache } from "../object-cache.ts";
import { refTo } from "../object-ref.ts";
import { claimNames } from "../scheduler/pod-volumes.ts";
import { phaseOf } from "./match.ts";

export interface Removal {
  readonly resource: "persistentvolumeclaims" | "persistentvolumes";
  readonly object: ApiObject;
  readonly finalizer: string;
}

/** The deleted PVCs and PVs to remove: PVCs that no pod uses, and PVs that are not bound. */
function planRemovals(
  claims: readonly ApiObject[],
  volumes: readonly ApiObject[],
  pods: readonly ApiObject[],
): Removal[] {
  const used = usedClaims(pods.filter((pod) => !["Succeeded", "Failed"].includes(phaseOf(pod))));
  const hasFinalizer = (object: ApiObject, finalizer: string) =>
    object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).includes(finalizer);
  return [
    ...claims
      .filter((claim) => hasFinalizer(claim, claimProtection))
      .filter(({ metadata }) => !used.has(`${metadata.namespace}/${metadata.name}`))
      .map(
        (object): Removal => ({
          resource: "persistentvolumeclaims",
          object,
          finalizer: claimProtection,
        }),
      ),
    ...volumes
      .filter((volume) => hasFinalizer(volume, volumeProtection) && phaseOf(volume) !== "Bound")
      .map((object): Removal => ({ resource: "persistentvolumes", object, finalizer: volumeProtection })),
  ];
}

/** "namespace/name" of all PVCs that these pods use. */
export function usedClaims(pods: readonly ApiObject[]): Set<string> {
  return new Set(
    pods.flatMap((pod) => claimNames(typed(pod)).map((name) => `${pod.metadata.namespace}/${name}`)),
  );
}

export async function removeProtection({
  objects,
  cache,
}: {
  readonly objects: Objects;
  readonly cache: ObjectCache;
}): Promise<void> {
  const claims = cache.all("persistentvolumeclaims");
  const plan = planRemovals(claims, cache.all("persistentvolumes"), cache.all("pods"));
  for (const { resource, object, finalizer } of plan) {
    try {
      await objects.change(
        refTo(resource, object),
        ({ metadata }) => {
          metadata.finalizers = metadata.finalizers?.filter((name) => name !== finalizer) ?? [];
        },
        { uid: object.metadata.uid },
      );
    } catch (error) {
      if (![404, 409].includes(httpStatusOf(error) ?? 0)) throw error;
    }
  }
}
