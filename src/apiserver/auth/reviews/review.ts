import type { Problem } from "../../../lib/model/validation/problem.ts";
import type { RequestContext, ResourceDefinition, Unstructured } from "../../definition.ts";
import { FieldProblems } from "../../kinds/field-problems.ts";
import { invalid } from "../../rest/problems.ts";
import type { ApiObject } from "../../storage/object.ts";

export interface Review {
  readonly group: string;
  /** TokenReview */
  readonly kind: string;
  readonly namespaced?: boolean;
  readonly check?: (draft: Unstructured, problems: FieldProblems) => void;
  /** The status, and the fields that replace fields of the request. */
  readonly evaluate: (draft: Unstructured, context: RequestContext) => Promise<Record<string, unknown>>;
}

/** A review is evaluated and not stored: it can only be created. */
export function review(o: Review): ResourceDefinition {
  const { group, kind, namespaced = false } = o;
  const singular = kind.toLowerCase();
  return {
    group,
    version: "v1",
    name: `${singular}s`,
    singular,
    kind,
    namespaced,
    verbs: ["create"],
    async handleCreate(draft, context) {
      const found: readonly Problem[] = problemsOf(o, draft);
      if (found.length > 0) throw invalid({ kind, group }, "", found);
      const fields = await o.evaluate(draft, context);
      return { kind, apiVersion: `${group}/v1`, ...echoed(draft), ...fields } as ApiObject;
    },
  };
}

function problemsOf(o: Review, draft: Unstructured): readonly Problem[] {
  const problems = new FieldProblems();
  o.check?.(draft, problems);
  return problems.list;
}

/** A review has no identity: the response has only the metadata that the caller sent. */
function echoed({ metadata, ...rest }: Unstructured): object {
  const {
    uid: _,
    name,
    creationTimestamp: __,
    resourceVersion: ___,
    generation: ____,
    ...kept
  } = metadata ?? {};
  return { ...rest, metadata: { ...kept, ...(name && { name }) } };
}
