import type { PodSpec } from "../../../lib/model/pod.ts";

type Term = NonNullable<
  NonNullable<
    NonNullable<PodSpec["affinity"]>["podAffinity"]
  >["requiredDuringSchedulingIgnoredDuringExecution"]
>[number];

/** Merges matchLabelKeys and mismatchLabelKeys into the selectors, with the values of the pod's own labels. */
export function applyLabelKeys(spec: PodSpec, labels: Readonly<Record<string, string>>): void {
  for (const { term } of podTerms(spec)) {
    select(term.labelSelector, term.matchLabelKeys, "In", labels);
    select(term.labelSelector, term.mismatchLabelKeys, "NotIn", labels);
  }
  for (const constraint of spec.topologySpreadConstraints ?? [])
    select(constraint.labelSelector, constraint.matchLabelKeys, "In", labels);
}

/** The terms of affinity and anti-affinity between pods, with their paths; `weight` for those that are only preferred. */
export function* podTerms(
  spec: PodSpec,
): Generator<{ term: Term; path: string; weight?: number; at: string }> {
  for (const kind of ["podAffinity", "podAntiAffinity"] as const) {
    const affinity = spec.affinity?.[kind];
    const at = `spec.affinity.${kind}`;
    for (const [i, term] of (affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      const path = `${at}.requiredDuringSchedulingIgnoredDuringExecution[${i}]`;
      yield { term, path, at: path };
    }
    for (const [i, preference] of (
      affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
    ).entries()) {
      const path = `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}]`;
      yield {
        term: preference.podAffinityTerm ?? { topologyKey: "" },
        path,
        weight: preference.weight ?? 0,
        at: `${path}.podAffinityTerm`,
      };
    }
  }
}

function select(
  selector: Term["labelSelector"],
  keys: readonly string[] | undefined,
  operator: "In" | "NotIn",
  labels: Readonly<Record<string, string>>,
): void {
  // Without a selector nothing matches, and a key would not change that.
  if (!selector) return;
  for (const key of keys ?? []) {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (value === undefined) continue;
    selector.matchExpressions = [...(selector.matchExpressions ?? []), { key, operator, values: [value] }];
  }
}
