import type { Problem } from "../../../lib/model/validation/problem.ts";
import type {
  ActionSubresource,
  ObjectRef,
  RequestContext,
  Unstructured,
  UpdateSubresource,
} from "../../definition.ts";
import { badRequest, conflictError, invalid, notFoundError } from "../../rest/problems.ts";
import type { ApiObject } from "../../storage/object.ts";
import { topologyLabels } from "./admission/topology-labels.ts";
import { setCondition } from "./conditions.ts";
import { createdStatus } from "./created-status.ts";
import { asPod, type PodDraft } from "./pod-draft.ts";

const pods = { name: "pods", group: "" };

/** Only bindings write both spec and status of a pod; they do not increment its generation. */
export const bindSubresource: UpdateSubresource = {
  type: "update",
  internal: true,
  countsGenerations: false,
  // Fields written by a binding have no field manager.
  ignored: [["metadata"], ["spec"], ["status"]],
  prepareUpdate: () => {},
};

export const binding: ActionSubresource = {
  type: "action",
  kind: "Binding",
  group: "",
  version: "v1",
  act: bindPod,
};

/** Binds a pod to a node; it cannot be bound again. */
export async function bindPod(
  ref: ObjectRef,
  body: Unstructured,
  context: RequestContext,
): Promise<ApiObject> {
  const { name, uid, resourceVersion, annotations, labels } = body.metadata ?? {};
  if (name !== ref.name) throw badRequest("name in URL does not match name in Binding object");
  const problems = checkTarget(body.target);
  if (problems.length > 0) throw invalid({ kind: "Binding", group: "" }, ref.name, problems);
  const node: string = body.target.name;
  const { objects, now } = context;
  const topology = body.target.kind === "Node" ? await topologyLabels(node, objects) : {};
  const write = (draft: Unstructured) => {
    const pod = asPod(draft);
    checkPrecondition("UID", uid, pod.metadata.uid, ref);
    checkPrecondition("ResourceVersion", resourceVersion, pod.metadata.resourceVersion, ref);
    checkBindable(pod);
    pod.spec.nodeName = node;
    pod.status ??= {};
    delete pod.status.nominatedNodeName;
    if (annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
    const more = { ...labels, ...topology };
    if (Object.keys(more).length > 0) pod.metadata.labels = { ...pod.metadata.labels, ...more };
    setCondition(pod.status, { type: "PodScheduled", status: "True" }, now);
  };
  if (!(await objects.change(ref, write, { subresource: "bind" })))
    throw notFoundError(pods, "pods", ref.name);
  return createdStatus();
}

function checkTarget(target: { kind?: string; name?: string } | undefined): Problem[] {
  const problems: Problem[] = [];
  if (target?.kind && target.kind !== "Node")
    problems.push({
      path: "target.kind",
      message: `Unsupported value: ${JSON.stringify(target.kind)}: supported values: "Node", "<empty>"`,
    });
  if (!target?.name) problems.push({ path: "target.name", message: "Required value" });
  return problems;
}

function checkBindable({ metadata, spec }: PodDraft): void {
  const { name } = metadata;
  const conflict = (why: string) =>
    conflictError({ name: "pods/binding", group: "" }, "pods/binding", name, why);
  if (metadata.deletionTimestamp !== undefined)
    throw conflict(`pod ${name} is being deleted, cannot be assigned to a host`);
  if (spec.nodeName)
    throw conflict(`pod ${name} is already assigned to node ${JSON.stringify(spec.nodeName)}`);
  if (spec.schedulingGates?.length) throw conflict(`pod ${name} has non-empty .spec.schedulingGates`);
}

function checkPrecondition(
  field: string,
  expected: string | undefined,
  actual: string | undefined,
  ref: ObjectRef,
): void {
  if (expected && expected !== actual)
    throw conflictError(
      pods,
      "pods",
      ref.name,
      `Precondition failed: ${field} in precondition: ${expected}, ${field} in object meta: ${actual}`,
    );
}
