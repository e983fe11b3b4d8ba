import { dnsLabel, qualifiedName } from "../../lib/base/name-rules.ts";
import type { OwnerReference } from "../../lib/gen/kubernetes/meta.d.ts";
import { checkAnnotations, checkLabels } from "../../lib/model/validation/metadata.ts";
import type { DraftMeta, Unstructured } from "../definition.ts";
import { compareText } from "../patch/text-order.ts";
import type { ApiObject } from "../storage/object.ts";
import type { FieldProblems } from "./field-problems.ts";
import type { NameRule } from "./names.ts";

export interface MetaRules {
  readonly namespaced: boolean;
  readonly nameRule: NameRule;
}

const orphan = "orphan";
const foreground = "foregroundDeletion";

/** Validates the metadata of any kind. The name must already be generated. */
export function checkMeta(draft: Unstructured, rules: MetaRules, problems: FieldProblems): void {
  const meta = draft.metadata;
  if (meta.generateName)
    problems.check("metadata.generateName", meta.generateName, rules.nameRule(meta.generateName, true));
  if (!meta.name) problems.required("metadata.name", "name or generateName is required");
  else problems.check("metadata.name", meta.name, rules.nameRule(meta.name, false));
  checkNamespace(meta, rules.namespaced, problems);
  problems.notNegative("metadata.generation", meta.generation);
  checkLabels(meta.labels, "metadata.labels", problems);
  checkAnnotations(meta.annotations, problems);
  checkOwners(meta.ownerReferences, problems);
  checkFinalizers(meta.finalizers, problems);
}

/** Validates immutable metadata. `checkMeta` validates the rest. */
export function checkMetaUpdate(draft: Unstructured, oldObject: ApiObject, problems: FieldProblems): void {
  const meta = draft.metadata;
  const old = oldObject.metadata;
  if (old.deletionTimestamp !== undefined) {
    const more = new Set(meta.finalizers).difference(new Set(old.finalizers));
    const names = [...more].sort(compareText).map((name) => JSON.stringify(name));
    if (names.length > 0)
      problems.forbidden(
        "metadata.finalizers",
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${names.join(", ")}}`,
      );
  }
  if ((meta.generation ?? 0) < (old.generation ?? 0))
    problems.invalid("metadata.generation", meta.generation ?? 0, "must not be decremented");
  for (const field of fixedFields) problems.immutable(`metadata.${field}`, meta[field], old[field]);
}

/** The fields that only the server sets, once. */
export const fixedFields = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

function checkNamespace(meta: DraftMeta, namespaced: boolean, problems: FieldProblems): void {
  if (!namespaced) {
    if (meta.namespace) problems.forbidden("metadata.namespace", "not allowed on this type");
  } else if (!meta.namespace) problems.required("metadata.namespace");
  else problems.check("metadata.namespace", meta.namespace, dnsLabel(meta.namespace));
}

function checkOwners(owners: readonly OwnerReference[] | undefined, problems: FieldProblems): void {
  const path = "metadata.ownerReferences";
  let controller: string | undefined;
  for (const owner of owners ?? []) {
    const version = (owner.apiVersion ?? "").split("/").at(-1) ?? "";
    if (version === "")
      problems.invalid(`${path}.apiVersion`, owner.apiVersion ?? "", "version must not be empty");
    for (const field of ["kind", "name", "uid"] as const)
      if (!owner[field]) problems.invalid(`${path}.${field}`, owner[field] ?? "", "must not be empty");
    if (owner.apiVersion === "v1" && owner.kind === "Event")
      problems.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner");
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller !== undefined)
      problems.invalid(
        path,
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
      );
    controller ??= name;
  }
}

const standardFinalizers = [orphan, foreground, "kubernetes"];

function checkFinalizers(finalizers: readonly string[] | undefined, problems: FieldProblems): void {
  for (const [i, name] of (finalizers ?? []).entries()) checkFinalizer(name, i, problems);
  if (finalizers?.includes(orphan) && finalizers.includes(foreground))
    problems.invalid(
      "metadata.finalizers",
      finalizers,
      `finalizer ${orphan} and ${foreground} cannot be both set`,
    );
}

function checkFinalizer(name: string, index: number, problems: FieldProblems): void {
  problems.check("metadata.finalizers", name, qualifiedName(name));
  if (!name.includes("/") && !standardFinalizers.includes(name))
    problems.invalid(
      `metadata.finalizers[${index}]`,
      name,
      "name is neither a standard finalizer name nor is it fully qualified",
    );
}
