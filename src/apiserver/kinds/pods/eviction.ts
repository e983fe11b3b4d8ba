import type { ActionSubresource, ObjectRef, RequestContext, Unstructured } from "../../definition.ts";
import { badRequest, conflictError, notFoundError } from "../../rest/problems.ts";
import type { ApiObject } from "../../storage/object.ts";
import { setCondition } from "./conditions.ts";
import { createdStatus } from "./created-status.ts";
import { asPod } from "./pod-draft.ts";

const pods = { name: "pods", group: "" };

interface EvictionOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: readonly string[];
}

/** A deletion with a reason. There are no disruption budgets that could prevent it. */
export const eviction: ActionSubresource = {
  type: "action",
  kind: "Eviction",
  group: "policy",
  version: "v1",
  act: evict,
};

async function evict(ref: ObjectRef, body: Unstructured, context: RequestContext): Promise<ApiObject> {
  if (body.metadata?.name !== ref.name)
    throw badRequest("name in URL does not match name in Eviction object");
  const options: EvictionOptions = body.deleteOptions ?? {};
  const { objects, now } = context;
  const current = await objects.get(ref);
  if (!current) throw notFoundError(pods, "pods", ref.name);
  checkPreconditions(current, options, ref);
  if (context.dryRun || options.dryRun?.includes("All")) return createdStatus();
  const marked = await objects.change(
    ref,
    (draft) => {
      checkPreconditions(draft, options, ref);
      const pod = asPod(draft);
      pod.status ??= {};
      setCondition(
        pod.status,
        {
          type: "DisruptionTarget",
          status: "True",
          reason: "EvictionByEvictionAPI",
          message: "Eviction API: evicting",
        },
        now,
      );
    },
    { subresource: "status", uid: current.metadata.uid },
  );
  if (!marked) throw notFoundError(pods, "pods", ref.name);
  await objects.delete(ref, {
    uid: current.metadata.uid,
    ...(options.gracePeriodSeconds !== undefined && { gracePeriodSeconds: options.gracePeriodSeconds }),
  });
  return createdStatus();
}

function checkPreconditions(
  { metadata }: ApiObject,
  { preconditions }: EvictionOptions,
  { name }: ObjectRef,
): void {
  const { uid, resourceVersion } = preconditions ?? {};
  const conflict = (why: string) => conflictError({ name: "Pod", group: "" }, "Pod", name, why);
  if (uid && uid !== metadata.uid)
    throw conflict(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  if (resourceVersion && resourceVersion !== metadata.resourceVersion)
    throw conflict(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
}
