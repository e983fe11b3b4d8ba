import { dnsLabel } from "../../lib/base/name-rules.ts";
import type { Toleration } from "../../lib/gen/kubernetes/core.d.ts";
import { checkLabels } from "../../lib/model/validation/metadata.ts";
import { checkToleration } from "../../lib/model/validation/tolerations.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";
import { checkAmount } from "./quantities.ts";

export const runtimeClasses = defineKind({
  group: "node.k8s.io",
  version: "v1",
  name: "runtimeclasses",
  singular: "runtimeclass",
  kind: "RuntimeClass",
  namespaced: false,
  nameRule: nameIsSubdomain,
  check({ handler, overhead, scheduling }, problems) {
    if (!handler) problems.required("handler");
    else problems.check("handler", handler, dnsLabel(handler));
    for (const [name, amount] of Object.entries(overhead?.podFixed ?? {}))
      checkAmount(`overhead.limits[${name}]`, name, amount as string, problems);
    checkLabels(scheduling?.nodeSelector, "scheduling.nodeSelector", problems);
    checkDistinctTolerations(scheduling?.tolerations, "scheduling.tolerations", problems);
  },
  checkUpdate(draft, oldObject, problems) {
    problems.immutable("handler", draft.handler, oldObject.handler);
  },
});

/** Tolerations of a runtime class: duplicates are rejected. */
function checkDistinctTolerations(
  tolerations: readonly Toleration[] | undefined,
  path: string,
  problems: FieldProblems,
): void {
  const seen = new Set<string>();
  for (const [i, toleration] of (tolerations ?? []).entries()) {
    const { key = "", operator = "", value = "", effect = "" } = toleration;
    checkToleration(toleration, `${path}[${i}]`, problems);
    const identity = JSON.stringify([key, operator, value, effect]);
    if (seen.has(identity)) problems.duplicate(`${path}[${i}]`, toleration);
    seen.add(identity);
  }
}
