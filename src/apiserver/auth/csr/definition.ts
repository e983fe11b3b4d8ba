import type { CertificateSigningRequestCondition } from "../../../lib/gen/kubernetes/certificates.d.ts";
import type {
  RequestContext,
  ResourceDefinition,
  Unstructured,
  UpdateSubresource,
} from "../../definition.ts";
import { collected, defineKind, onlyWrites, restore } from "../../kinds/define.ts";
import { checkMeta, checkMetaUpdate } from "../../kinds/metadata.ts";
import { checkRequest, checkSubresource, type Subresource } from "./checks.ts";
import { conditionsOf } from "./conditions.ts";

export interface RequestRules {
  /** The shortest lifetime that may be requested. Default 600. */
  readonly minimumSeconds?: number;
}

const nameRule = () => [];

/** certificatesigningrequests: the API records the requester, and the request itself never changes. */
export function certificateSigningRequests(rules: RequestRules = {}): ResourceDefinition {
  const minimum = rules.minimumSeconds ?? 600;
  const defined = defineKind({
    group: "certificates.k8s.io",
    version: "v1",
    name: "certificatesigningrequests",
    singular: "certificatesigningrequest",
    kind: "CertificateSigningRequest",
    namespaced: false,
    shortNames: ["csr"],
    countsGenerations: false,
    nameRule,
    prepareCreate: fillInCaller,
    prepareUpdate(draft, oldObject) {
      draft.spec = structuredClone(oldObject.spec);
      draft.status = structuredClone(oldObject.status);
    },
    check: (draft, problems) => checkRequest(draft, minimum, problems),
    checkUpdate: (draft, oldObject, problems) => checkSubresource("main", draft, oldObject, problems),
  });
  return {
    ...defined,
    subresources: { status: subresource("status", minimum), approval: subresource("approval", minimum) },
  };
}

function fillInCaller(draft: Unstructured, { caller }: RequestContext): void {
  const { username: _, uid: __, groups: ___, extra: ____, ...requested } = draft.spec ?? {};
  draft.spec = {
    ...requested,
    username: caller.name,
    ...(caller.uid && { uid: caller.uid }),
    groups: [...caller.groups],
    ...(caller.extra && Object.keys(caller.extra).length > 0 && { extra: structuredClone(caller.extra) }),
  };
  draft.status = {};
}

function subresource(which: Exclude<Subresource, "main">, minimum: number): UpdateSubresource {
  return {
    type: "update",
    ignored: [["spec"], ["status", which === "status" ? "conditions" : "certificate"]],
    prepareUpdate(draft, oldObject, { now }) {
      onlyWrites(draft, oldObject, ["metadata", "status"]);
      const old = oldObject;
      draft.status ??= {};
      if (which === "status") keepApproval(draft, old);
      stampConditions(draft, old, now);
      if (which === "approval") {
        const { conditions } = draft.status;
        restore(draft, oldObject, "status");
        draft.status = { ...draft.status, ...(conditions !== undefined && { conditions }) };
      }
    },
    validateUpdate: (draft, oldObject) =>
      collected((problems) => {
        checkMetaUpdate(draft, oldObject, problems);
        checkMeta(draft, { namespaced: false, nameRule }, problems);
        checkRequest(draft, minimum, problems);
        checkSubresource(which, draft, oldObject, problems);
      }),
  };
}

/** A signer sends the approval that it has read together with the certificate; the stored approval is kept. */
function keepApproval(draft: Unstructured, oldObject: Readonly<Unstructured>): void {
  for (const type of ["Approved", "Denied"]) {
    const old = conditionsOf(oldObject).filter((condition) => condition.type === type);
    const conditions = conditionsOf(draft);
    const indexes = conditions.flatMap((condition, i) => (condition.type === type ? [i] : []));
    if (indexes.length !== old.length) continue;
    for (const [i, index] of indexes.entries()) conditions[index] = structuredClone(old[i]!);
  }
}

function stampConditions(draft: Unstructured, oldObject: Readonly<Unstructured>, nowMs: number): void {
  const now = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  for (const condition of conditionsOf(draft)) {
    condition.lastUpdateTime ??= now;
    condition.lastTransitionTime ??= transitionTime(condition, oldObject) ?? now;
  }
}

function transitionTime(
  { type, status }: CertificateSigningRequestCondition,
  oldObject: Readonly<Unstructured>,
): string | undefined {
  return conditionsOf(oldObject).find((old) => old.type === type && old.status === status)
    ?.lastTransitionTime;
}
