import type { Caller, ResourceDefinition } from "../../definition.ts";
import { rulesFor } from "../authorize/fixed-policy.ts";
import { nodeNameOf } from "../names.ts";
import { badRequest } from "../problems.ts";
import { review } from "./review.ts";

/** SelfSubjectRulesReview: the caller's permissions in a namespace. */
export function selfSubjectRulesReview(): ResourceDefinition {
  return review({
    group: "authorization.k8s.io",
    kind: "SelfSubjectRulesReview",
    async evaluate(draft, { caller }) {
      const { namespace } = (draft.spec ?? {}) as { namespace?: string };
      if (!namespace) throw badRequest("no namespace on request");
      return { metadata: {}, spec: {}, status: rulesStatus(caller, namespace) };
    },
  });
}

function rulesStatus(caller: Caller, namespace: string): object {
  const rules = rulesFor(caller, namespace);
  const node = nodeNameOf(caller) !== undefined;
  return {
    resourceRules: rules.flatMap((rule) =>
      "paths" in rule ? [] : [{ verbs: rule.verbs, apiGroups: rule.groups, resources: rule.resources }],
    ),
    nonResourceRules: rules.flatMap((rule) =>
      "paths" in rule ? [{ verbs: rule.verbs, nonResourceURLs: rule.paths }] : [],
    ),
    // The permissions of a node depend on its pods, and cannot be listed.
    incomplete: node,
    ...(node && { evaluationError: "node authorizer does not support user rule resolution" }),
  };
}
