import type { RequestContext, Unstructured } from "../definition.ts";
import { forbidden } from "../rest/problems.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";
import { jsonDiff } from "./pods/spec-diff.ts";
import { amountOf, checkAmount, checkPositive } from "./quantities.ts";
import { same } from "./same.ts";
import {
  addFinalizer,
  checkAccessModes,
  checkStorageClass,
  claimProtection,
  volumeModes,
} from "./volume-fields.ts";

const defaultClass = "storageclass.kubernetes.io/is-default-class";

export const persistentVolumeClaims = defineKind({
  group: "",
  version: "v1",
  name: "persistentvolumeclaims",
  singular: "persistentvolumeclaim",
  kind: "PersistentVolumeClaim",
  namespaced: true,
  shortNames: ["pvc"],
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.spec ??= {};
    const { spec } = draft;
    spec.volumeMode ??= "Filesystem";
    spec.resources ??= {};
    draft.status = { phase: "Pending", ...draft.status };
  },
  async prepareCreate(draft, context) {
    addFinalizer(draft, claimProtection);
    await chooseClass(draft, context);
  },
  prepareUpdate: checkExpansion,
  check({ spec }, problems) {
    if (!spec.accessModes?.length)
      problems.required("spec.accessModes", "at least 1 access mode is required");
    checkAccessModes(spec.accessModes ?? [], "spec.accessModes", problems);
    checkStorage(spec.resources.requests?.storage, problems);
    checkStorageClass(spec.storageClassName, problems);
    problems.oneOf("spec.volumeMode", spec.volumeMode, volumeModes);
    checkDataSource(spec, problems);
  },
  checkUpdate: checkChange,
  status: {
    atCreation: { phase: "Pending" },
    checkUpdate({ status }, _oldObject, problems) {
      for (const [name, amount] of Object.entries(status?.capacity ?? {}))
        checkAmount(`status.capacity[${name}]`, name, amount as string, problems);
    },
  },
});

/** A PVC that names no class at all gets the default one, the newest if there are several. */
async function chooseClass(draft: Unstructured, context: RequestContext): Promise<void> {
  if (draft.spec.storageClassName !== undefined) return;
  const classes = (await context.objects.list("storageclasses.storage.k8s.io")).filter(
    ({ metadata }) => (metadata.annotations as Record<string, string> | undefined)?.[defaultClass] === "true",
  );
  const newest = classes.sort((a, b) => {
    const [left, right] = [String(a.metadata.creationTimestamp), String(b.metadata.creationTimestamp)];
    return left === right ? (a.metadata.name < b.metadata.name ? -1 : 1) : left < right ? 1 : -1;
  })[0];
  if (newest !== undefined) draft.spec.storageClassName = newest.metadata.name;
}

/** A bound PVC can be expanded only if its class allows volume expansion. */
async function checkExpansion(
  draft: Unstructured,
  oldObject: Readonly<Unstructured>,
  context: RequestContext,
): Promise<void> {
  const sizeOf = (claim: Readonly<Unstructured>) => amountOf(claim.spec?.resources?.requests?.storage);
  if (oldObject.status?.phase !== "Bound" || sizeOf(draft) <= sizeOf(oldObject)) return;
  const name: string = draft.spec.storageClassName ?? "";
  const resource = "storageclasses.storage.k8s.io";
  const found = name === "" ? undefined : await context.objects.get({ resource, namespace: "", name });
  if (found?.allowVolumeExpansion === true && name === oldObject.spec.storageClassName) return;
  throw forbidden(
    { name: "persistentvolumeclaims", group: "" },
    "persistentvolumeclaims",
    draft.metadata.name,
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
  );
}

function checkStorage(storage: string | undefined, problems: FieldProblems): void {
  const path = "spec.resources[storage]";
  if (storage === undefined) problems.required(path);
  else checkPositive(path, storage, problems);
}

function checkDataSource(spec: Unstructured, problems: FieldProblems): void {
  for (const field of ["dataSource", "dataSourceRef"]) {
    const source = spec[field];
    if (!source) continue;
    const path = `spec.${field}`;
    if (!source.name) problems.required(`${path}.name`);
    if (!source.kind) problems.required(`${path}.kind`);
    if (!source.apiGroup && source.kind !== "PersistentVolumeClaim")
      problems.invalid(
        path,
        source.kind ?? "",
        "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
      );
  }
}

function checkChange(draft: Unstructured, oldObject: Readonly<Unstructured>, problems: FieldProblems): void {
  const bound = draft.status?.phase === "Bound";
  const newSpec = structuredClone(draft.spec);
  const old = structuredClone(oldObject.spec);
  if (!old.volumeName) delete newSpec.volumeName;
  if (old.storageClassName === undefined) delete newSpec.storageClassName;
  if (bound) {
    delete newSpec.volumeAttributesClassName;
    delete old.volumeAttributesClassName;
  }
  const [more, less] = [
    amountOf(newSpec.resources?.requests?.storage),
    amountOf(old.resources?.requests?.storage),
  ];
  if (bound || more === less) {
    delete newSpec.resources?.requests?.storage;
    delete old.resources?.requests?.storage;
  }
  if (!same(newSpec, old))
    problems.forbidden(
      "spec",
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${jsonDiff(old, newSpec)}`,
    );
  if (more < less && more <= amountOf(oldObject.status?.capacity?.storage))
    problems.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity");
  problems.immutable("volumeMode", draft.spec.volumeMode, oldObject.spec.volumeMode);
}
