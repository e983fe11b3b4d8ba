import { qualifiedName } from "../../lib/base/name-rules.ts";
import type { Unstructured, UpdateSubresource } from "../definition.ts";
import { forbidden } from "../rest/problems.ts";
import { collected, defineKind, onlyWrites } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { checkMeta, checkMetaUpdate } from "./metadata.ts";
import { nameIsLabel } from "./names.ts";

const nameLabel = "kubernetes.io/metadata.name";
const ownFinalizer = "kubernetes";
const standardFinalizers = [ownFinalizer, "orphan", "foregroundDeletion"];

/** Namespaces of the system. */
const undeletable = new Set(["default", "kube-system", "kube-public"]);

const finalize: UpdateSubresource = {
  type: "update",
  ignored: [["status"]],
  prepareUpdate(draft, oldObject) {
    onlyWrites(draft, oldObject, ["metadata", "spec"]);
  },
  validateUpdate: (draft, oldObject) =>
    collected((problems) => {
      checkMetaUpdate(draft, oldObject, problems);
      checkMeta(draft, { namespaced: false, nameRule: nameIsLabel }, problems);
      for (const [i, name] of finalizersOf(draft).entries())
        checkFinalizer(name, `spec.finalizers[${i}]`, problems);
    }),
};

export const namespaces = defineKind({
  group: "",
  version: "v1",
  name: "namespaces",
  singular: "namespace",
  kind: "Namespace",
  namespaced: false,
  shortNames: ["ns"],
  nameRule: nameIsLabel,
  defaults(draft) {
    draft.spec ??= {};
    // Selectors of policies find every namespace by this label.
    if (draft.metadata.name)
      draft.metadata.labels = { ...draft.metadata.labels, [nameLabel]: draft.metadata.name };
  },
  prepareCreate(draft) {
    const finalizers = finalizersOf(draft);
    if (!finalizers.includes(ownFinalizer)) draft.spec.finalizers = [...finalizers, ownFinalizer];
  },
  prepareUpdate(draft, oldObject) {
    draft.spec.finalizers = [...finalizersOf(oldObject)];
    if (draft.spec.finalizers.length === 0) delete draft.spec.finalizers;
  },
  /** Deleted in two steps: a controller empties it first, and then removes the finalizer. */
  prepareDelete(draft) {
    const { name } = draft.metadata;
    if (undeletable.has(name))
      throw forbidden(
        { name: "namespaces", group: "" },
        "namespaces",
        name,
        "this namespace may not be deleted",
      );
    draft.status = { ...draft.status, phase: "Terminating" };
  },
  hasSpecFinalizers: (current) => finalizersOf(current).length > 0,
  check(draft, problems) {
    for (const name of finalizersOf(draft)) checkFinalizer(name, "spec.finalizers", problems);
  },
  status: {
    atCreation: { phase: "Active" },
    checkUpdate(draft, _oldObject, problems) {
      const phase = draft.status?.phase ?? "";
      if (draft.metadata.deletionTimestamp === undefined) {
        if (phase !== "Active")
          problems.invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty");
      } else if (phase !== "Terminating")
        problems.invalid(
          "status.Phase",
          phase,
          "may only be 'Terminating' if `deletionTimestamp` is not empty",
        );
    },
  },
  subresources: { finalize },
});

function finalizersOf(namespace: Readonly<Unstructured>): readonly string[] {
  return namespace.spec?.finalizers ?? [];
}

function checkFinalizer(name: string, path: string, problems: FieldProblems): void {
  problems.check(path, name, qualifiedName(name));
  if (!name.includes("/") && !standardFinalizers.includes(name))
    problems.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified");
}
