import type { Objects } from "../../../definition.ts";
import type { ApiObject } from "../../../storage/object.ts";
import type { PodDraft } from "../pod-draft.ts";
import { forbidden } from "./forbidden.ts";

const resource = "priorityclasses.scheduling.k8s.io";

interface Priority {
  readonly className: string;
  readonly value: number;
  readonly preemptionPolicy: string | undefined;
}

/** The number of a pod's priority follows from the name of its class, and from nothing else. */
export async function admitPriority(pod: PodDraft, objects: Objects): Promise<void> {
  const { spec } = pod;
  const { className, value, preemptionPolicy } = await priorityOf(pod, objects);
  if (spec.priority !== undefined && spec.priority !== value)
    throw forbidden(
      pod,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  if (className !== "") spec.priorityClassName = className;
  spec.priority = value;
  if (preemptionPolicy === undefined) return;
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy)
    throw forbidden(
      pod,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  spec.preemptionPolicy = preemptionPolicy;
}

async function priorityOf(pod: PodDraft, objects: Objects): Promise<Priority> {
  const name = pod.spec.priorityClassName;
  if (name) {
    const named = await objects.get({ resource, namespace: "", name });
    if (!named) throw forbidden(pod, `no PriorityClass with name ${name} was found`);
    return ofClass(named);
  }
  const defaultClass = (await objects.list(resource))
    .filter((each) => each.globalDefault === true)
    .map(ofClass);
  // There should be at most one; if there are several, the lowest is used.
  const [lowest] = defaultClass.sort((a, b) => a.value - b.value);
  return lowest ?? { className: "", value: 0, preemptionPolicy: "PreemptLowerPriority" };
}

function ofClass(object: ApiObject): Priority {
  return {
    className: object.metadata.name,
    value: typeof object.value === "number" ? object.value : 0,
    preemptionPolicy: typeof object.preemptionPolicy === "string" ? object.preemptionPolicy : undefined,
  };
}
