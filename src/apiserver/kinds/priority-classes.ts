import type { RequestContext, Unstructured } from "../definition.ts";
import { forbidden } from "../rest/problems.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";

const group = "scheduling.k8s.io";
const maxUserPriority = 1_000_000_000;

/** The classes of system pods. */
export const systemPriorities = [
  {
    name: "system-node-critical",
    value: 2_000_001_000,
    description: "Used for system critical pods that must not be moved from their current node.",
  },
  {
    name: "system-cluster-critical",
    value: 2_000_000_000,
    description:
      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  },
] as const;

export const priorityClasses = defineKind({
  group,
  version: "v1",
  name: "priorityclasses",
  singular: "priorityclass",
  kind: "PriorityClass",
  namespaced: false,
  shortNames: ["pc"],
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.preemptionPolicy ??= "PreemptLowerPriority";
    draft.value ??= 0;
  },
  countsGenerations: true,
  prepareCreate: forbidSecondDefault,
  prepareUpdate: (draft, _oldObject, context) => forbidSecondDefault(draft, context),
  check(draft, problems) {
    const { name } = draft.metadata;
    if (name?.startsWith("system-")) checkSystem(draft, problems);
    else if (draft.value > maxUserPriority)
      problems.forbidden("value", `maximum allowed value of a user defined priority is ${maxUserPriority}`);
    if (draft.preemptionPolicy === "") problems.required("preemptionPolicy");
    else problems.oneOf("preemptionPolicy", draft.preemptionPolicy, ["PreemptLowerPriority", "Never"]);
  },
  checkUpdate(draft, oldObject, problems) {
    if (draft.value !== oldObject.value) problems.forbidden("value", "may not be changed in an update.");
    problems.immutable("preemptionPolicy", draft.preemptionPolicy, oldObject.preemptionPolicy);
  },
});

function checkSystem(draft: Unstructured, problems: FieldProblems): void {
  const message = systemClassError(draft);
  if (message !== undefined)
    problems.forbidden(
      "metadata.name",
      `priority class names with 'system-' prefix are reserved for system use only. error: ${message}`,
    );
}

function systemClassError({ metadata, value, globalDefault }: Unstructured): string | undefined {
  const known = systemPriorities.find(({ name }) => name === metadata.name);
  if (known === undefined) return `${metadata.name} is not a known system priority class`;
  if (value !== known.value) return `value of ${known.name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${known.name} PriorityClass must be false` : undefined;
}

async function forbidSecondDefault(draft: Unstructured, context: RequestContext): Promise<void> {
  if (draft.globalDefault !== true) return;
  const { name } = draft.metadata;
  for (const other of await context.objects.list(`priorityclasses.${group}`))
    if (other.globalDefault === true && other.metadata.name !== name)
      throw forbidden(
        { name: "priorityclasses", group },
        `priorityclasses.${group}`,
        name,
        `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`,
      );
}
