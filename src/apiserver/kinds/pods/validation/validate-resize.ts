import type { Container, PodSpec, ResourceRequirements } from "../../../../lib/model/pod.ts";
import { computeQos, podQos } from "../../../../lib/model/qos.ts";
import type { Problem } from "../../../../lib/model/validation/problem.ts";
import type { Unstructured } from "../../../definition.ts";
import type { ApiObject } from "../../../storage/object.ts";
import { FieldProblems } from "../../field-problems.ts";
import { checkMetaUpdate } from "../../metadata.ts";
import { asModelPod, asPod, isMirror, type PodDraft } from "../pod-draft.ts";
import { sameJson } from "../spec-diff.ts";
import { checkWholePod } from "./check-pod.ts";

type List = Record<string, string> | undefined;

/** CPU and memory can be changed while a pod runs, as long as it remains in its class; nothing else. */
export function validateResize(draft: Unstructured, oldObject: ApiObject): readonly Problem[] {
  const pod = asPod(draft);
  const old = asPod(oldObject);
  const problems = new FieldProblems();
  const never = isMirror(old)
    ? "static pods cannot be resized"
    : old.spec.os?.name === "windows" && "windows pods cannot be resized";
  if (never) {
    problems.forbidden("", never);
    return problems.list;
  }
  checkMetaUpdate(draft, oldObject, problems);
  checkWholePod(draft, problems);
  if (podQos(asModelPod(old)) !== computeQos(asModelPod(pod)))
    problems.invalid(
      "spec",
      old.status?.qosClass ?? "",
      "Pod QOS Class may not change as a result of resizing",
    );
  if (!nodeCanResize(old)) problems.forbidden("spec", "Pod running on node without support for resize");
  checkPodLevel(pod.spec, old.spec, problems);
  if (!checkOrder(pod.spec, old.spec, problems)) return problems.list;
  checkContainers(pod.spec, old.spec, problems);
  return problems.list;
}

/** A node that can resize also reports the resources of its running containers. */
function nodeCanResize({ status }: PodDraft): boolean {
  const running = (status?.containerStatuses ?? []).find(({ state }) => state?.running);
  return !running || (running as { resources?: unknown }).resources !== undefined;
}

function checkPodLevel(spec: PodSpec, old: PodSpec, problems: FieldProblems): void {
  const [newValue, oldValue] = [spec.resources, old.resources];
  if (!newValue) {
    if (oldValue) problems.forbidden("spec.resources", "pod-level resources cannot be removed");
    return;
  }
  for (const which of ["requests", "limits"] as const)
    if (lacks(newValue[which], oldValue?.[which]))
      problems.forbidden(`spec.resources.${which}`, `pod-level resource ${which} cannot be removed`);
  if (!sameJson(withoutCpuAndMemory(newValue), withoutCpuAndMemory(oldValue ?? {})))
    problems.forbidden("spec", "only cpu and memory resources are mutable at pod-level");
}

/** False if containers cannot be compared one by one. */
function checkOrder(spec: PodSpec, old: PodSpec, problems: FieldProblems): boolean {
  let comparable = true;
  for (const kind of ["containers", "initContainers"] as const) {
    const [newValue, oldValue] = [spec[kind] ?? [], old[kind] ?? []];
    const forbid = (path: string, did: string) => {
      problems.forbidden(path, `${kind} may not be ${did} on resize`);
      comparable = false;
    };
    if (newValue.length !== oldValue.length) forbid(`spec.${kind}`, "added or removed");
    else
      for (const [i, { name }] of oldValue.entries())
        if (newValue[i]?.name !== name) forbid(`spec.${kind}[${i}].name`, "renamed or reordered");
  }
  return comparable;
}

function checkContainers(spec: PodSpec, old: PodSpec, problems: FieldProblems): void {
  for (const kind of ["initContainers", "containers"] as const)
    for (const [i, oldValue] of (old[kind] ?? []).entries()) {
      const newValue = spec[kind]?.[i] ?? oldValue;
      const at = `spec.${kind}[${i}]`;
      for (const which of ["requests", "limits"] as const)
        if (lacks(newValue.resources?.[which], oldValue.resources?.[which]))
          problems.forbidden(`${at}.resources.${which}`, `resource ${which} cannot be removed`);
      if (!sameJson(othersOf(newValue), othersOf(oldValue)))
        if (kind === "containers") problems.forbidden("spec", "only cpu and memory resources are mutable");
        else
          problems.forbidden(at, "only cpu and memory resources for init or sidecar containers are mutable");
      const onceOnly = kind === "initContainers" && oldValue.restartPolicy !== "Always";
      if (onceOnly && !sameJson(newValue, oldValue) && restartsToResize(newValue))
        problems.forbidden(
          at,
          "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
        );
    }
}

function restartsToResize({ resizePolicy }: Container): boolean {
  return (resizePolicy ?? []).some(({ restartPolicy }) => restartPolicy === "RestartContainer");
}

function lacks(newValue: List, oldValue: List): boolean {
  return Object.keys(oldValue ?? {}).some((name) => !Object.hasOwn(newValue ?? {}, name));
}

function othersOf({ resources, ...rest }: Container): unknown {
  return { ...rest, resources: withoutCpuAndMemory(resources ?? {}) };
}

function withoutCpuAndMemory({ limits, requests, claims }: ResourceRequirements): unknown {
  const others = (list: List) =>
    Object.fromEntries(Object.entries(list ?? {}).filter(([name]) => name !== "cpu" && name !== "memory"));
  return { limits: others(limits), requests: others(requests), claims: claims ?? [] };
}
