import { httpStatusOf } from "../../../lib/base/errors.ts";
import type { Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import type { EventRecorder } from "../event-recorder.ts";
import type { ObjectCache } from "../object-cache.ts";
import { refTo } from "../object-ref.ts";
import { usedClaims } from "./protection.ts";
import { planVolumes, provisionerAnnotation, type VolumeStep } from "./volume-plan.ts";

export interface VolumeBinderOptions {
  readonly objects: Objects;
  readonly cache: ObjectCache;
  readonly recorder: EventRecorder;
}

const claims = "persistentvolumeclaims";
const volumes = "persistentvolumes";
const boundByUs = "pv.kubernetes.io/bound-by-controller";
const bindCompleted = "pv.kubernetes.io/bind-completed";
const olderProvisioner = "volume.beta.kubernetes.io/storage-provisioner";

/** Binds PVCs to PVs. */
export async function bindVolumes(options: VolumeBinderOptions): Promise<void> {
  const { cache } = options;
  const steps = planVolumes({
    claims: cache.all(claims),
    volumes: cache.all(volumes),
    classes: cache.all("storageclasses.storage.k8s.io"),
    used: usedClaims(cache.all("pods")),
  });
  for (const step of steps) {
    try {
      await execute(step, options);
    } catch (error) {
      if (![404, 409].includes(httpStatusOf(error) ?? 0)) throw error;
    }
  }
}

async function execute(step: VolumeStep, options: VolumeBinderOptions): Promise<void> {
  const { objects, cache, recorder } = options;
  const about = (object: ApiObject) => ({ apiVersion: "v1", kind: "PersistentVolumeClaim", object });
  switch (step.do) {
    case "bind":
      return bind(step.claim, step.volume, options);
    case "set phase": {
      const resource = step.of === "claim" ? claims : volumes;
      cache.record(resource, await setStatus(objects, resource, step.object, { phase: step.phase }));
      if (step.message !== undefined)
        await recorder.record({
          about: about(step.object),
          type: "Warning",
          reason: "ClaimLost",
          action: "Binding",
          message: step.message,
        });
      return;
    }
    case "provision": {
      const changed = await objects.change(
        refTo(claims, step.claim),
        ({ metadata }) => {
          metadata.annotations = {
            ...metadata.annotations,
            [provisionerAnnotation]: step.provisioner,
            [olderProvisioner]: step.provisioner,
          };
        },
        { uid: step.claim.metadata.uid },
      );
      return cache.record(claims, changed);
    }
    case "event": {
      const { type, reason, message } = step;
      return recorder.record({ about: about(step.claim), type, reason, message, action: "Binding" });
    }
    default:
      return step satisfies never;
  }
}

/** The volume is updated first: it must not be bound twice. Each step can be repeated if the next one failed. */
async function bind(claim: ApiObject, volume: ApiObject, options: VolumeBinderOptions): Promise<void> {
  const { objects, cache } = options;
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  let taken = false;
  const claimed = await objects.change(
    refTo(volumes, volume),
    (draft) => {
      const old = draft.spec.claimRef;
      taken =
        Boolean(old) && (old.name !== name || old.namespace !== namespace || (old.uid && old.uid !== uid));
      if (taken || old?.uid === uid) return;
      draft.spec.claimRef = {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        namespace,
        name,
        uid,
        resourceVersion,
      };
      if (!old) draft.metadata.annotations = { ...draft.metadata.annotations, [boundByUs]: "yes" };
    },
    { uid: volume.metadata.uid },
  );
  if (claimed === undefined || taken) return;
  cache.record(volumes, claimed);
  cache.record(volumes, await setStatus(objects, volumes, volume, { phase: "Bound" }));
  const changed = await objects.change(
    refTo(claims, claim),
    (draft) => {
      const marks: Record<string, string> = { [bindCompleted]: "yes" };
      if (!draft.spec.volumeName) marks[boundByUs] = "yes";
      draft.spec.volumeName = volume.metadata.name;
      draft.metadata.annotations = { ...draft.metadata.annotations, ...marks };
    },
    { uid },
  );
  if (changed === undefined) return;
  const { accessModes, capacity } = volume.spec;
  cache.record(claims, await setStatus(objects, claims, claim, { phase: "Bound", accessModes, capacity }));
}

function setStatus(
  objects: Objects,
  resource: string,
  object: ApiObject,
  status: Readonly<Record<string, unknown>>,
): Promise<ApiObject | undefined> {
  return objects.change(
    refTo(resource, object),
    (draft) => {
      draft.status = { ...draft.status, ...status };
    },
    { subresource: "status", uid: object.metadata.uid },
  );
}
