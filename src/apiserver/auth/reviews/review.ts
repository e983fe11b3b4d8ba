import type { Problem } from "../../../lib/model/validation/problem.ts";
import type { Draft, RequestContext, ResourceDefinition } from "../../definition.ts";
import { FieldProblems } from "../../kinds/field-problems.ts";
import { invalid } from "../../rest/problems.ts";
import type { ApiObject } from "../../storage/object.ts";

export interface Review {
  readonly group: string;
  /** TokenReview */
  readonly kind: string;
  readonly namespaced?: boolean;
  readonly check?: (draft: Draft, problems: FieldProblems) => void;
  /** The status, and instead of what was sent the rest of the answer if it is to be replaced. */
  readonly evaluate: (draft: Draft, context: RequestContext) => Promise<Record<string, unknown>>;
}

/** A question that is answered and not kept: it can only be created. */
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
      return { kind, apiVersion: `${group}/v1`, ...answered(draft), ...fields } as ApiObject;
    },
  };
}

function problemsOf(o: Review, draft: Draft): readonly Problem[] {
  const problems = new FieldProblems();
  o.check?.(draft, problems);
  return problems.list;
}

/** A review has no identity: of its metadata only what the caller wrote is given back. */
function answered({ metadata, ...rest }: Draft): object {
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
