import { httpStatusOf } from "../../../lib/base/errors.ts";
import type {
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from "../../../lib/gen/kubernetes/resource.d.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { Objects, Unstructured } from "../../definition.ts";
import { type ApiObject, typed } from "../../storage/object.ts";
import type { EventRecorder } from "../event-recorder.ts";
import type { ObjectCache } from "../object-cache.ts";
import { type ClaimStep, planClaims, podClaimAnnotation } from "./claim-plan.ts";

export interface ClaimOptions {
  readonly objects: Objects;
  readonly cache: ObjectCache;
  readonly recorder: EventRecorder;
}

const claims = "resourceclaims.resource.k8s.io";
const templates = "resourceclaimtemplates.resource.k8s.io";
const classes = "deviceclasses.resource.k8s.io";
const slices = "resourceslices.resource.k8s.io";
const finalizer = "resource.kubernetes.io/delete-protection";

/** The kinds whose changes affect ResourceClaims, in addition to pods and nodes. */
export const claimWatches = [claims, templates, classes, slices];

/**
 * Creates ResourceClaims from templates, allocates devices of the node to the claims of pending pods, and releases the claims of terminated pods.
 * Resolves to the reason why a pod cannot be scheduled yet, if there is one.
 */
export async function assignClaims(options: ClaimOptions): Promise<(pod: Pod) => string | undefined> {
  const { cache } = options;
  const pods = all<Pod>(cache, "pods");
  const known = all<ResourceClaim>(cache, claims);
  const planned = new Set(pods.map(({ metadata }) => metadata.uid));
  // A pod may arrive while claims of others are written.
  const reasonOf = (blocked: ReadonlyMap<string, string>) => (pod: Pod) =>
    blocked.get(pod.metadata.uid) ??
    (pod.spec.resourceClaims?.length && !planned.has(pod.metadata.uid)
      ? "its resource claims have not been looked at yet"
      : undefined);
  if (known.length === 0 && !pods.some(({ spec }) => spec.resourceClaims?.length)) return reasonOf(new Map());
  const { steps, blocked } = planClaims({
    pods,
    nodes: cache.all("nodes").map(({ metadata }) => ({
      name: metadata.name,
      labels: (metadata.labels ?? {}) as Record<string, string>,
    })),
    claims: known,
    templates: all<ResourceClaimTemplate>(cache, templates),
    classes: all<DeviceClass>(cache, classes),
    slices: all<ResourceSlice>(cache, slices),
  });
  for (const step of steps)
    try {
      await execute(step, options);
    } catch (error) {
      // Deleted or changed in the meantime: the next reconciliation handles it.
      if (![404, 409].includes(httpStatusOf(error) ?? 0)) throw error;
    }
  return reasonOf(blocked);
}

async function execute(step: ClaimStep, { objects, cache, recorder }: ClaimOptions): Promise<void> {
  switch (step.do) {
    case "create":
      return cache.record(claims, await objects.create(claims, generated(step)));
    case "name": {
      const { podClaim, claim } = step;
      const changed = await objects.change(
        podRef(step.pod),
        (draft) => {
          const others = (draft.status?.resourceClaimStatuses ?? []).filter(
            ({ name }: { name: string }) => name !== podClaim,
          );
          const statuses = [...others, { name: podClaim, resourceClaimName: claim }];
          draft.status = { ...draft.status, resourceClaimStatuses: statuses };
        },
        { subresource: "status", uid: step.pod.metadata.uid },
      );
      return cache.record("pods", changed);
    }
    case "allocate": {
      const protectedClaim = await change(objects, step.claim, (draft) => {
        draft.metadata.finalizers = [...new Set([...(draft.metadata.finalizers ?? []), finalizer])];
      });
      if (!protectedClaim) return;
      const changed = await changeStatus(objects, step.claim, (status) => {
        if (status.allocation) return status;
        return { ...status, allocation: step.allocation, reservedFor: [consumer(step.pod)] };
      });
      return cache.record(claims, changed);
    }
    case "reserve": {
      const changed = await changeStatus(objects, step.claim, (status) => {
        const { reservedFor = [] } = status;
        if (!status.allocation || reservedFor.some(({ uid }) => uid === step.pod.metadata.uid)) return status;
        return { ...status, reservedFor: [...reservedFor, consumer(step.pod)] };
      });
      return cache.record(claims, changed);
    }
    case "release":
      return cache.record(claims, await release(objects, step.claim, step.consumers));
    case "delete":
      await objects.delete(claimRef(step.claim), { uid: step.claim.metadata?.uid ?? "" });
      return;
    case "refuse":
      return recorder.record({
        about: { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", object: step.claim },
        type: "Warning",
        reason: "FailedAllocation",
        action: "Allocating",
        message: step.reason,
      });
    default:
      return step satisfies never;
  }
}

/** Consumers that joined since the plan was made are kept, and with them the allocation. */
async function release(
  objects: Objects,
  claim: ResourceClaim,
  consumers: readonly string[],
): Promise<ApiObject | undefined> {
  const known = new Set((claim.status?.reservedFor ?? []).map(({ uid }) => uid));
  const changed = await changeStatus(objects, claim, ({ reservedFor = [], ...status }) => {
    const left = reservedFor.filter(({ uid }) => consumers.includes(uid) || !known.has(uid));
    const { allocation: _, ...deallocated } = status;
    return left.length > 0 ? { ...status, reservedFor: left } : deallocated;
  });
  if (!changed || changed.status?.allocation) return changed;
  return change(objects, claim, (draft) => {
    draft.metadata.finalizers = (draft.metadata.finalizers ?? []).filter((one: string) => one !== finalizer);
  });
}

function generated({ pod, podClaim, template }: Extract<ClaimStep, { do: "create" }>) {
  const { metadata = {}, spec } = template.spec;
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      generateName: `${pod.metadata.name}-${podClaim}-`,
      namespace: pod.metadata.namespace,
      ...(metadata.labels && { labels: metadata.labels }),
      annotations: { ...metadata.annotations, [podClaimAnnotation]: podClaim },
      ownerReferences: [
        {
          apiVersion: "v1",
          kind: "Pod",
          name: pod.metadata.name,
          uid: pod.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: structuredClone(spec),
  };
}

type Status = NonNullable<ResourceClaim["status"]>;

function changeStatus(objects: Objects, claim: ResourceClaim, next: (status: Status) => Status) {
  return change(
    objects,
    claim,
    (draft) => {
      draft.status = next(draft.status ?? {});
    },
    "status",
  );
}

function change(
  objects: Objects,
  claim: ResourceClaim,
  edit: (draft: Unstructured) => void,
  subresource?: string,
): Promise<ApiObject | undefined> {
  return objects.change(claimRef(claim), edit, {
    uid: claim.metadata?.uid ?? "",
    ...(subresource !== undefined && { subresource }),
  });
}

function consumer({ metadata: { name, uid } }: Pod) {
  return { resource: "pods", name, uid };
}

function claimRef({ metadata }: ResourceClaim) {
  return { resource: claims, namespace: metadata?.namespace ?? "", name: metadata?.name ?? "" };
}

function podRef({ metadata: { namespace, name } }: Pod) {
  return { resource: "pods", namespace, name };
}

function all<T extends object>(cache: ObjectCache, resource: string): T[] {
  return cache.all(resource).map((object) => typed<T>(object));
}
