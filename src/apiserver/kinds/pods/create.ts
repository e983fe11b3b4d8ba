import type { PodStatus } from "../../../lib/model/pod.ts";
import { computeQos } from "../../../lib/model/qos.ts";
import type { RequestContext, Unstructured } from "../../definition.ts";
import { admitPriority } from "./admission/priority.ts";
import { admitRuntimeClass } from "./admission/runtime-class.ts";
import { admitServiceAccount, type ServiceAccountOptions } from "./admission/service-account.ts";
import { addDefaultTolerations } from "./admission/tolerations.ts";
import { topologyLabels } from "./admission/topology-labels.ts";
import { syncAppArmor } from "./app-armor.ts";
import { setCondition } from "./conditions.ts";
import { applyLabelKeys } from "./label-keys.ts";
import { asModelPod, asPod, type PodDraft } from "./pod-draft.ts";

/** The default admission of a cluster, then the fields that only the API sets. */
export async function prepareCreate(
  draft: Unstructured,
  context: RequestContext,
  options: ServiceAccountOptions,
): Promise<void> {
  const pod = asPod(draft);
  await admitServiceAccount(pod, context, options);
  await admitPriority(pod, context.objects);
  addDefaultTolerations(pod.spec);
  await admitRuntimeClass(pod, context.objects);
  if (pod.spec.nodeName) {
    const labels = await topologyLabels(pod.spec.nodeName, context.objects);
    if (Object.keys(labels).length > 0) pod.metadata.labels = { ...pod.metadata.labels, ...labels };
  }
  delete pod.metadata.deletionTimestamp;
  delete pod.metadata.deletionGracePeriodSeconds;
  pod.metadata.generation = 1;
  pod.status = firstStatus(pod, context.now);
  applyLabelKeys(pod.spec, pod.metadata.labels ?? {});
  syncAppArmor(pod);
}

function firstStatus(pod: PodDraft, now: number): PodStatus {
  const status: PodStatus = { phase: "Pending", qosClass: computeQos(asModelPod(pod)) };
  if (pod.spec.schedulingGates?.length)
    setCondition(
      status,
      {
        type: "PodScheduled",
        status: "False",
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates",
      },
      now,
    );
  return status;
}
