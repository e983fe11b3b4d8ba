import { type Clock, systemClock } from "../../../lib/base/clock.ts";
import type { ConnectSubresource, ResourceDefinition, Unstructured } from "../../definition.ts";
import { generatedName } from "../../rest/generate-name.ts";
import type { ApiObject } from "../../storage/object.ts";
import { addDefaultTolerations } from "./admission/tolerations.ts";
import { binding, bindSubresource } from "./binding.ts";
import { prepareCreate } from "./create.ts";
import { defaultPod } from "./defaults.ts";
import { ephemeralContainersSubresource } from "./ephemeral-containers.ts";
import { eviction } from "./eviction.ts";
import { asPod } from "./pod-draft.ts";
import { resizeSubresource } from "./resize.ts";
import { statusSubresource } from "./status.ts";
import { validateCreate } from "./validation/validate-create.ts";
import { validateUpdate } from "./validation/validate-update.ts";

export type PodConnection = "log" | "exec" | "attach" | "portforward" | "proxy";

export interface PodDefinitionOptions {
  /** Connections into a running pod, which a kubelet serves. */
  readonly connect?: Readonly<Record<PodConnection, ConnectSubresource>>;
  /** False: no service account token is mounted into pods. */
  readonly mountTokens: boolean;
  readonly clock?: Clock;
  /** Generates volume names from a prefix. */
  readonly newName?: (base: string) => string;
}

export function podDefinition(options: PodDefinitionOptions): ResourceDefinition {
  const { connect, mountTokens, clock = systemClock, newName = generatedName } = options;
  return {
    group: "",
    version: "v1",
    name: "pods",
    singular: "pod",
    kind: "Pod",
    namespaced: true,
    shortNames: ["po"],
    categories: ["all"],
    defaults: defaultPod,
    prepareCreate: (draft, context) => prepareCreate(draft, context, { mountTokens, clock, newName }),
    validate: validateCreate,
    prepareUpdate,
    validateUpdate,
    countsGenerations: true,
    deletionGrace: podDeletionGrace,
    subresources: {
      status: statusSubresource,
      ephemeralcontainers: ephemeralContainersSubresource,
      resize: resizeSubresource,
      bind: bindSubresource,
      binding,
      eviction,
      ...connect,
    },
  };
}

/** The grace period of a deleted pod: until its node has terminated it; 0 if it has no node. */
export function podDeletionGrace(current: ApiObject, requested: number | undefined): number {
  const { spec, status } = asPod(current);
  if (!spec.nodeName) return 0;
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return 0;
  const period = requested ?? spec.terminationGracePeriodSeconds ?? 0;
  return period < 0 ? 1 : period;
}

/** Prepares an update of a pod: the status is kept, and the default tolerations are added again. */
export function prepareUpdate(draft: Unstructured, oldObject: ApiObject): void {
  const pod = asPod(draft);
  const old = asPod(oldObject);
  if (old.status) pod.status = structuredClone(old.status);
  else delete pod.status;
  pod.spec.priority ??= old.spec.priority;
  if (pod.spec.priority === undefined) delete pod.spec.priority;
  pod.spec.preemptionPolicy ??= old.spec.preemptionPolicy;
  if (pod.spec.preemptionPolicy === undefined) delete pod.spec.preemptionPolicy;
  addDefaultTolerations(pod.spec);
}
