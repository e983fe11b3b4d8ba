import type { Problem } from "../../lib/model/validation/problem.ts";
import type {
  RequestContext,
  ResourceDefinition,
  Subresource,
  Unstructured,
  UpdateSubresource,
} from "../definition.ts";
import type { ApiObject } from "../storage/object.ts";
import { FieldProblems } from "./field-problems.ts";
import { checkMeta, checkMetaUpdate, type MetaRules } from "./metadata.ts";
import type { NameRule } from "./names.ts";

type Check = (draft: Unstructured, problems: FieldProblems) => void;
type UpdateCheck = (draft: Unstructured, oldObject: Readonly<Unstructured>, problems: FieldProblems) => void;

/** The rules of one kind; `defineKind` adds the rules that all kinds share. */
export interface KindRules
  extends Pick<
    ResourceDefinition,
    | "group"
    | "version"
    | "name"
    | "singular"
    | "kind"
    | "namespaced"
    | "shortNames"
    | "categories"
    | "verbs"
    | "alsoServedAs"
    | "createsOnUpdate"
    | "countsGenerations"
  > {
  readonly nameRule: NameRule;

  readonly defaults?: (draft: Unstructured) => void;
  readonly prepareCreate?: (draft: Unstructured, context: RequestContext) => void | Promise<void>;
  readonly prepareUpdate?: (
    draft: Unstructured,
    oldObject: Readonly<Unstructured>,
    context: RequestContext,
  ) => void | Promise<void>;
  readonly prepareDelete?: (draft: Unstructured, context: RequestContext) => void | Promise<void>;
  readonly hasSpecFinalizers?: (current: Readonly<Unstructured>) => boolean;
  /** Validates an object, new or changed. */
  readonly check?: Check;
  /** Validates a change. */
  readonly checkUpdate?: UpdateCheck;
  /** Present if the status has a subresource. The main endpoint then does not write the status. */
  readonly status?: StatusRules;
  readonly subresources?: Readonly<Record<string, Subresource>>;
}

export interface StatusRules {
  /** The status that is kept on create; otherwise the initial status of new objects. */
  readonly atCreation?: "kept" | Readonly<Record<string, unknown>>;
  readonly checkUpdate?: UpdateCheck;
}

export function defineKind(rules: KindRules): ResourceDefinition {
  const { nameRule: _, check, checkUpdate, status, prepareCreate, prepareUpdate, ...plain } = rules;
  return {
    ...plain,
    countsGenerations: rules.countsGenerations ?? false,
    async prepareCreate(draft, context) {
      if (status !== undefined) beginStatus(draft, status);
      await prepareCreate?.(draft, context);
    },
    async prepareUpdate(draft, oldObject, context) {
      if (status !== undefined) restore(draft, oldObject, "status");
      await prepareUpdate?.(draft, oldObject, context);
    },
    validate: (draft) =>
      collected((problems) => {
        checkMeta(draft, rules, problems);
        check?.(draft, problems);
      }),
    validateUpdate: (draft, oldObject) =>
      collected((problems) => {
        checkMetaUpdate(draft, oldObject, problems);
        checkMeta(draft, rules, problems);
        check?.(draft, problems);
        checkUpdate?.(draft, oldObject, problems);
      }),
    ...subresources(rules),
  };
}

function subresources(rules: KindRules): { subresources?: Readonly<Record<string, Subresource>> } {
  const all = {
    ...(rules.status === undefined ? {} : { status: statusSubresource(rules, rules.status) }),
    ...rules.subresources,
  };
  return Object.keys(all).length === 0 ? {} : { subresources: all };
}

function statusSubresource(meta: MetaRules, status: StatusRules): UpdateSubresource {
  return {
    type: "update",
    ignored: [["spec"]],
    prepareUpdate(draft, oldObject) {
      onlyWrites(draft, oldObject, ["metadata", "status"]);
    },
    validateUpdate: (draft, oldObject) =>
      collected((problems) => {
        checkMetaUpdate(draft, oldObject, problems);
        checkMeta(draft, meta, problems);
        status.checkUpdate?.(draft, oldObject, problems);
      }),
  };
}

function beginStatus(draft: Unstructured, status: StatusRules): void {
  if (status.atCreation === "kept") return;
  if (status.atCreation === undefined) delete draft.status;
  else draft.status = structuredClone(status.atCreation);
}

/** Restores all root fields except these from `oldObject`. */
export function onlyWrites(draft: Unstructured, oldObject: ApiObject, fields: readonly string[]): void {
  for (const field of new Set([...Object.keys(draft), ...Object.keys(oldObject)]))
    if (!fields.includes(field) && field !== "apiVersion" && field !== "kind")
      restore(draft, oldObject, field);
}

export function restore(draft: Unstructured, oldObject: ApiObject, field: string): void {
  if (oldObject[field] === undefined) delete draft[field];
  else draft[field] = structuredClone(oldObject[field]);
}

export function collected(check: (problems: FieldProblems) => void): readonly Problem[] {
  const problems = new FieldProblems();
  check(problems);
  return unique(problems.list);
}

/** The validation of an object and of its change may report the same problem. */
function unique(problems: readonly Problem[]): readonly Problem[] {
  const seen = new Set<string>();
  return problems.filter(({ path, message }) => {
    const key = `${path}\n${message}`;
    return !seen.has(key) && seen.add(key);
  });
}
