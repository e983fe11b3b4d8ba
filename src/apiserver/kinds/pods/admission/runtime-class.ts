import { roundList } from "../../../../lib/model/defaults/container.ts";
import type { Objects } from "../../../definition.ts";
import { same } from "../../same.ts";
import type { PodDraft } from "../pod-draft.ts";
import { forbidden } from "./forbidden.ts";
import { mergeTolerations, type Toleration } from "./tolerations.ts";

interface RuntimeClass {
  readonly overhead?: { readonly podFixed?: Readonly<Record<string, string>> };
  readonly scheduling?: {
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly tolerations?: readonly Toleration[];
  };
}

/** A pod's runtime class must exist; it defines the overhead and the scheduling of its pods. */
export async function admitRuntimeClass(pod: PodDraft, objects: Objects): Promise<void> {
  const { spec } = pod;
  const runtime = await runtimeClassOf(pod, objects);
  setOverhead(pod, runtime);
  if (!runtime?.scheduling) return;
  const { nodeSelector = {}, tolerations = [] } = runtime.scheduling;
  for (const [key, value] of Object.entries(nodeSelector)) {
    const own = spec.nodeSelector?.[key];
    if (own !== undefined && own !== value)
      throw forbidden(
        pod,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`,
      );
  }
  if (Object.keys(nodeSelector).length > 0) spec.nodeSelector = { ...spec.nodeSelector, ...nodeSelector };
  const merged = mergeTolerations(spec.tolerations ?? [], tolerations);
  if (merged.length > 0) spec.tolerations = merged;
}

async function runtimeClassOf(pod: PodDraft, objects: Objects): Promise<RuntimeClass | undefined> {
  const name = pod.spec.runtimeClassName;
  if (!name) return undefined;
  const found = await objects.get({ resource: "runtimeclasses.node.k8s.io", namespace: "", name });
  if (!found) throw forbidden(pod, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  return found as RuntimeClass;
}

function setOverhead(pod: PodDraft, runtime: RuntimeClass | undefined): void {
  const { spec } = pod;
  if (!runtime?.overhead) {
    if (spec.overhead)
      throw forbidden(
        pod,
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
      );
    return;
  }
  const fixed = { ...runtime.overhead.podFixed };
  roundList(fixed);
  if (spec.overhead && !same(spec.overhead, fixed))
    throw forbidden(pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  if (Object.keys(fixed).length > 0) spec.overhead = fixed;
}
