import { dnsLabel, dnsSubdomain, qualifiedName } from "../../../../lib/base/name-rules.ts";
import type { NodeSelectorTerm } from "../../../../lib/gen/kubernetes/core.d.ts";
import type { LabelSelectorRequirement } from "../../../../lib/gen/kubernetes/meta.d.ts";
import type { PodSpec } from "../../../../lib/model/pod.ts";
import type { FieldProblems } from "../../field-problems.ts";
import { podTerms } from "../label-keys.ts";
import { checkLabelKeys, checkLabelSelector, checkOperator, checkValues } from "./selectors.ts";

export function checkAffinity(spec: PodSpec, problems: FieldProblems): void {
  checkNodeAffinity(spec, problems);
  for (const { term, path, weight, at } of podTerms(spec)) {
    if (weight !== undefined) checkWeight(weight, path, problems);
    checkLabelSelector(term.labelSelector as never, `${at}.labelSelector`, problems);
    checkLabelSelector(term.namespaceSelector as never, `${at}.namespaceSelector`, problems);
    for (const name of term.namespaces ?? []) problems.check(`${at}.namespace`, name, dnsLabel(name));
    checkLabelKeys(
      { match: term.matchLabelKeys, mismatch: term.mismatchLabelKeys },
      term.labelSelector as never,
      at,
      problems,
    );
    const key = term.topologyKey ?? "";
    if (key === "") problems.required(`${at}.topologyKey`, "can not be empty");
    problems.check(`${at}.topologyKey`, key, qualifiedName(key));
  }
}

function checkNodeAffinity(spec: PodSpec, problems: FieldProblems): void {
  const at = "spec.affinity.nodeAffinity";
  const {
    requiredDuringSchedulingIgnoredDuringExecution: required,
    preferredDuringSchedulingIgnoredDuringExecution: preferred,
  } = spec.affinity?.nodeAffinity ?? {};
  if (required) {
    const path = `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
    const terms = required.nodeSelectorTerms ?? [];
    if (terms.length === 0) problems.required(path, "must have at least one node selector term");
    for (const [i, term] of terms.entries()) checkNodeTerm(term, `${path}[${i}]`, true, problems);
  }
  for (const [i, preferredTerm] of (preferred ?? []).entries()) {
    const path = `${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}]`;
    checkWeight(preferredTerm.weight ?? 0, path, problems);
    checkNodeTerm(preferredTerm.preference ?? {}, `${path}.preference`, false, problems);
  }
}

/** A mere preference may name a value that no label can have: it then never matches. */
function checkNodeTerm(term: NodeSelectorTerm, at: string, strict: boolean, problems: FieldProblems): void {
  for (const [i, requirement] of (term.matchExpressions ?? []).entries()) {
    const path = `${at}.matchExpressions[${i}]`;
    checkOperator(requirement, path, true, problems);
    if (strict) checkValues(requirement, path, problems);
  }
  for (const [i, requirement] of (term.matchFields ?? []).entries())
    checkNodeField(requirement, `${at}.matchFields[${i}]`, problems);
}

function checkNodeField(
  { key, operator = "", values = [] }: LabelSelectorRequirement,
  at: string,
  problems: FieldProblems,
): void {
  if (operator !== "In" && operator !== "NotIn")
    problems.invalid(`${at}.operator`, operator, "not a valid selector operator");
  else if (values.length !== 1)
    problems.required(
      `${at}.values`,
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    );
  if (key !== "metadata.name") problems.invalid(`${at}.key`, key ?? "", "not a valid field selector key");
  else
    for (const [i, name] of values.entries()) problems.check(`${at}.values[${i}]`, name, dnsSubdomain(name));
}

function checkWeight(weight: number, at: string, problems: FieldProblems): void {
  if (weight < 1 || weight > 100) problems.invalid(`${at}.weight`, weight, "must be in the range 1-100");
}
