import type { SubjectAccessReviewSpec as Spec } from "../../../lib/gen/kubernetes/authorization.d.ts";
import type { Attributes, Authorizer } from "../../access.ts";
import type { Caller, ResourceDefinition, Unstructured } from "../../definition.ts";
import type { FieldProblems } from "../../kinds/field-problems.ts";
import { review } from "./review.ts";
import { fieldSelectorText, selectorProblems } from "./selector-attributes.ts";

const group = "authorization.k8s.io";

/** SubjectAccessReview: whether a user may send a request. */
export function subjectAccessReview(authorizer: Authorizer): ResourceDefinition {
  return review({
    group,
    kind: "SubjectAccessReview",
    check(draft, problems) {
      checkSpec(specOf(draft), problems, "named");
      checkMetadata(draft, problems, "must be empty");
    },
    evaluate: async (draft) => ({ status: await decide(authorizer, subjectOf(draft), specOf(draft)) }),
  });
}

/** LocalSubjectAccessReview: the same within one namespace. */
export function localSubjectAccessReview(authorizer: Authorizer): ResourceDefinition {
  return review({
    group,
    kind: "LocalSubjectAccessReview",
    namespaced: true,
    check(draft, problems) {
      const spec = specOf(draft);
      checkSpec(spec, problems, "named");
      checkMetadata(draft, problems, "must be empty except for namespace");
      const namespace = spec.resourceAttributes?.namespace ?? "";
      if (spec.resourceAttributes && namespace !== (draft.metadata.namespace ?? ""))
        problems.invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace");
      if (spec.nonResourceAttributes)
        problems.invalid(
          "spec.nonResourceAttributes",
          spec.nonResourceAttributes,
          "disallowed on this kind of request",
        );
    },
    evaluate: async (draft) => ({ status: await decide(authorizer, subjectOf(draft), specOf(draft)) }),
  });
}

/** SelfSubjectAccessReview: whether the caller may send a request. */
export function selfSubjectAccessReview(authorizer: Authorizer): ResourceDefinition {
  return review({
    group,
    kind: "SelfSubjectAccessReview",
    check(draft, problems) {
      checkSpec(specOf(draft), problems, "self");
      checkMetadata(draft, problems, "must be empty");
    },
    evaluate: async (draft, { caller }) => ({ status: await decide(authorizer, caller, specOf(draft)) }),
  });
}

function specOf(draft: Unstructured): Spec {
  return (draft.spec ?? {}) as Spec;
}

function subjectOf(draft: Unstructured): Caller {
  const { user = "", uid, groups = [], extra } = specOf(draft);
  return { name: user, groups, ...(uid && { uid }), ...(extra && { extra }) };
}

function checkSpec(spec: Spec, problems: FieldProblems, whose: "named" | "self"): void {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  if (resource && path)
    problems.invalid(
      "spec.nonResourceAttributes",
      path,
      "cannot be specified in combination with resourceAttributes",
    );
  if (!resource && !path)
    problems.invalid(
      "spec.resourceAttributes",
      null,
      "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
  if (whose === "named" && !spec.user && !spec.groups?.length)
    problems.invalid("spec.user", spec.user ?? "", "at least one of user or group must be specified");
  selectorProblems(resource?.fieldSelector, "spec.resourceAttributes.fieldSelector", problems);
  selectorProblems(resource?.labelSelector, "spec.resourceAttributes.labelSelector", problems);
}

function checkMetadata({ metadata }: Unstructured, problems: FieldProblems, detail: string): void {
  const { name, generateName, labels, annotations, ownerReferences, finalizers } = metadata ?? {};
  const given = { name, generateName, labels, annotations, ownerReferences, finalizers };
  const filled = Object.entries(given).filter(([, value]) => value && Object.keys(value).length > 0);
  if (filled.length > 0) problems.invalid("metadata", Object.fromEntries(filled), detail);
}

async function decide(authorizer: Authorizer, subject: Caller, spec: Spec): Promise<object> {
  const { attributes, problem } = attributesOf(spec);
  const { allowed, reason } = await authorizer.allows(subject, attributes);
  return { allowed, ...(reason && { reason }), ...(problem && { evaluationError: problem }) };
}

function attributesOf(spec: Spec): { attributes: Attributes; problem?: string } {
  const { resourceAttributes: resourceCheck, nonResourceAttributes } = spec;
  if (!resourceCheck) {
    const { path = "", verb = "" } = nonResourceAttributes ?? {};
    const none = { group: "", version: "", resource: "", subresource: "", namespace: "", name: "" };
    return { attributes: { ...none, verb, path } };
  }
  const selector = fieldSelectorText(resourceCheck.fieldSelector);
  return {
    attributes: {
      verb: resourceCheck.verb ?? "",
      group: resourceCheck.group ?? "",
      version: resourceCheck.version || "*",
      resource: resourceCheck.resource ?? "",
      subresource: resourceCheck.subresource ?? "",
      namespace: resourceCheck.namespace ?? "",
      name: resourceCheck.name ?? "",
      ...(selector.text && { fieldSelector: selector.text }),
      ...(resourceCheck.labelSelector?.rawSelector && {
        labelSelector: resourceCheck.labelSelector.rawSelector,
      }),
    },
    ...(selector.problem && { problem: selector.problem }),
  };
}
