import type { PodSpec } from "../../../../lib/model/pod.ts";
import type { FieldProblems } from "../../field-problems.ts";
import { sameJson } from "../spec-diff.ts";

type NodeAffinity = NonNullable<NonNullable<PodSpec["affinity"]>["nodeAffinity"]>;
type NodeTerm = NonNullable<
  NodeAffinity["requiredDuringSchedulingIgnoredDuringExecution"]
>["nodeSelectorTerms"][number];

const required = "requiredDuringSchedulingIgnoredDuringExecution";

/**
 * While a pod has scheduling gates, its node affinity can be narrowed. Fields that were checked here are reset in
 * `masked`.
 */
export function checkGatedPlacement(masked: PodSpec, old: PodSpec, problems: FieldProblems): void {
  if (!sameJson(masked.nodeSelector, old.nodeSelector)) {
    const areKept = Object.entries(old.nodeSelector ?? {}).every(
      ([key, value]) => masked.nodeSelector?.[key] === value,
    );
    if (!areKept)
      problems.invalid(
        "spec.nodeSelector",
        masked.nodeSelector,
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
      );
    if (old.nodeSelector) masked.nodeSelector = old.nodeSelector;
    else delete masked.nodeSelector;
  }
  const [newValue, oldValue] = [masked.affinity?.nodeAffinity, old.affinity?.nodeAffinity];
  if (sameJson(newValue, oldValue)) return;
  checkNodeAffinity(newValue, oldValue, problems);
  const { nodeAffinity: _now, ...others } = masked.affinity ?? {};
  if (oldValue) masked.affinity = { ...others, nodeAffinity: oldValue };
  else if (Object.keys(others).length > 0 || old.affinity) masked.affinity = others;
  else delete masked.affinity;
}

function checkNodeAffinity(
  newValue: NodeAffinity | undefined,
  oldValue: NodeAffinity | undefined,
  problems: FieldProblems,
): void {
  const path = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms`;
  const oldTerms = oldValue?.[required]?.nodeSelectorTerms ?? [];
  const terms = newValue?.[required]?.nodeSelectorTerms ?? [];
  if (oldTerms.length === 0) return;
  if (terms.length !== oldTerms.length) {
    problems.invalid(path, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
    return;
  }
  for (const [i, oldTerm] of oldTerms.entries()) {
    const term = terms[i] ?? {};
    if (!narrows(term, oldTerm))
      problems.invalid(`${path}[${i}]`, term, "only additions are allowed (no mutations or deletions)");
  }
}

/** Requirements may only be added at the end. An empty term matches nothing, and one with requirements would. */
function narrows(term: NodeTerm, old: NodeTerm): boolean {
  const fields = ["matchExpressions", "matchFields"] as const;
  if (fields.every((field) => !old[field]?.length) && fields.some((field) => term[field]?.length))
    return false;
  return fields.every((field) => {
    const oldValue = old[field] ?? [];
    return sameJson((term[field] ?? []).slice(0, oldValue.length), oldValue);
  });
}
