import { dnsSubdomain } from "../../lib/base/name-rules.ts";
import { resource } from "../../lib/schema/types/resource.ts";
import type { RequestContext, Unstructured } from "../definition.ts";
import { forbidden } from "../rest/problems.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";

const group = { group: "resource.k8s.io", version: "v1" } as const;
const adminLabel = "resource.kubernetes.io/admin-access";
const maxRequests = 32;
const maxConsumers = 256;

interface Exactly {
  deviceClassName?: string;
  allocationMode?: string;
  count?: number;
  adminAccess?: boolean;
  selectors?: readonly Selector[];
}

interface Selector {
  readonly cel?: { readonly expression?: string };
}

interface Request {
  name?: string;
  exactly?: Exactly;
  firstAvailable?: Exactly[];
}

interface ClaimSpec {
  devices?: { requests?: Request[] };
}

export const resourceClaims = defineKind({
  ...group,
  name: "resourceclaims",
  singular: "resourceclaim",
  kind: "ResourceClaim",
  namespaced: true,
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.spec ??= {};
    setDefaults(draft.spec);
  },
  prepareCreate: (draft, context) => requireAdminNamespace(draft, draft.spec, "resourceclaims", context),
  check: ({ spec }, problems) => checkSpec(spec, "spec", problems),
  checkUpdate: (draft, oldObject, problems) => problems.immutable("spec", draft.spec, oldObject.spec),
  status: {
    checkUpdate({ status }, oldObject, problems) {
      const { reservedFor = [], allocation } = status ?? {};
      if (reservedFor.length > maxConsumers) problems.tooLong("status.reservedFor", maxConsumers);
      if (reservedFor.length > 0 && !allocation)
        problems.forbidden("status.reservedFor", "may not be specified when `allocated` is not set");
      if (allocation && oldObject.status?.allocation)
        problems.immutable("status.allocation", allocation, oldObject.status.allocation);
    },
  },
});

export const resourceClaimTemplates = defineKind({
  ...group,
  name: "resourceclaimtemplates",
  singular: "resourceclaimtemplate",
  kind: "ResourceClaimTemplate",
  namespaced: true,
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.spec ??= {};
    draft.spec.spec ??= {};
    setDefaults(draft.spec.spec);
  },
  prepareCreate: (draft, context) =>
    requireAdminNamespace(draft, draft.spec.spec, "resourceclaimtemplates", context),
  check: ({ spec }, problems) => checkSpec(spec.spec, "spec.spec", problems),
  checkUpdate: (draft, oldObject, problems) => problems.immutable("spec", draft.spec, oldObject.spec),
});

function setDefaults(spec: ClaimSpec): void {
  for (const { exactly, firstAvailable = [] } of spec.devices?.requests ?? [])
    for (const request of exactly ? [exactly] : firstAvailable) {
      request.allocationMode ||= "ExactCount";
      if (request.allocationMode === "ExactCount") request.count ||= 1;
    }
}

function checkSpec(spec: ClaimSpec, path: string, problems: FieldProblems): void {
  const requests = spec.devices?.requests ?? [];
  const at = `${path}.devices.requests`;
  if (requests.length > maxRequests) problems.tooLong(at, maxRequests);
  const names = new Set<string>();
  for (const [i, { name = "", exactly, firstAvailable }] of requests.entries()) {
    if (name === "") problems.required(`${at}[${i}].name`);
    if (names.has(name)) problems.duplicate(`${at}[${i}].name`, name);
    names.add(name);
    if (!exactly && !firstAvailable?.length)
      problems.required(`${at}[${i}]`, "exactly one of `exactly` or `firstAvailable` is required");
    if (exactly && firstAvailable?.length)
      problems.invalid(
        `${at}[${i}]`,
        null,
        "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set",
      );
    if (exactly) checkRequest(exactly, `${at}[${i}].exactly`, problems);
    for (const [j, sub] of (firstAvailable ?? []).entries())
      checkRequest(sub, `${at}[${i}].firstAvailable[${j}]`, problems);
  }
}

function checkRequest(request: Exactly, path: string, problems: FieldProblems): void {
  const { deviceClassName = "", allocationMode = "", count = 0 } = request;
  if (deviceClassName === "") problems.required(`${path}.deviceClassName`);
  else problems.check(`${path}.deviceClassName`, deviceClassName, dnsSubdomain(deviceClassName));
  problems.oneOf(`${path}.allocationMode`, allocationMode, resource.values("DeviceAllocationMode"));
  if (allocationMode === "All" && count !== 0)
    problems.invalid(`${path}.count`, count, "must not be specified when allocationMode is 'All'");
  if (allocationMode === "ExactCount" && count <= 0)
    problems.invalid(`${path}.count`, count, "must be greater than zero");
  checkSelectors(request.selectors, `${path}.selectors`, problems);
}

export function checkSelectors(
  selectors: readonly Selector[] | undefined,
  path: string,
  problems: FieldProblems,
): void {
  for (const [i, { cel }] of (selectors ?? []).entries()) {
    if (!cel) problems.required(`${path}[${i}].cel`);
    else if (!cel.expression) problems.required(`${path}[${i}].cel.expression`);
  }
}

/** Admin access, to devices that others use, is only for namespaces that an administrator has labeled. */
async function requireAdminNamespace(
  draft: Unstructured,
  spec: ClaimSpec,
  resourceName: string,
  { objects }: RequestContext,
): Promise<void> {
  if (!(spec.devices?.requests ?? []).some(({ exactly }) => exactly?.adminAccess)) return;
  const { name = "", namespace = "" } = draft.metadata;
  const found = await objects.get({ resource: "namespaces", namespace: "", name: namespace });
  const labels = (found?.metadata.labels ?? {}) as Record<string, string>;
  if (labels[adminLabel] === "true") return;
  throw forbidden(
    { name: resourceName, group: group.group },
    `${resourceName}.${group.group}`,
    name,
    `admin access to devices requires the \`${adminLabel}: true\` label on the containing namespace`,
  );
}
