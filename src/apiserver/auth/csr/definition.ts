import type { Draft, PartSubresource, RequestContext, ResourceDefinition } from "../../definition.ts";
import { collected, defineKind, draftOf, onlyWrites, restore } from "../../kinds/define.ts";
import { checkMeta, checkMetaUpdate } from "../../kinds/metadata.ts";
import { checkRequest, checkSubresource, type Subresource } from "./checks.ts";
import { type Condition, conditionsOf } from "./conditions.ts";

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
    prepareUpdate(draft, before) {
      draft.spec = structuredClone(before.spec);
      draft.status = structuredClone(before.status);
    },
    check: (draft, problems) => checkRequest(draft, minimum, problems),
    checkUpdate: (draft, before, problems) => checkSubresource("main", draft, before, problems),
  });
  return {
    ...defined,
    subresources: { status: subresource("status", minimum), approval: subresource("approval", minimum) },
  };
}

function fillInCaller(draft: Draft, { caller }: RequestContext): void {
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

function subresource(which: Exclude<Subresource, "main">, minimum: number): PartSubresource {
  return {
    type: "part",
    ignored: [["spec"], ["status", which === "status" ? "conditions" : "certificate"]],
    prepareUpdate(draft, before, { now }) {
      onlyWrites(draft, before, ["metadata", "status"]);
      const old = draftOf(before);
      draft.status ??= {};
      if (which === "status") keepFailures(draft, old);
      stampConditions(draft, old, now);
      if (which === "approval") {
        const { conditions } = draft.status;
        restore(draft, before, "status");
        draft.status = { ...draft.status, ...(conditions !== undefined && { conditions }) };
      }
    },
    validateUpdate: (draft, before) =>
      collected((problems) => {
        checkMetaUpdate(draft, before, problems);
        checkMeta(draft, { namespaced: false, nameRule }, problems);
        checkRequest(draft, minimum, problems);
        checkSubresource(which, draft, draftOf(before), problems);
      }),
  };
}

/** A signer sends back the approval that it has read with the certificate: the stored one is kept. */
function keepFailures(draft: Draft, before: Readonly<Draft>): void {
  for (const type of ["Approved", "Denied"]) {
    const old = conditionsOf(before).filter((condition) => condition.type === type);
    const now = conditionsOf(draft);
    const places = now.flatMap((condition, i) => (condition.type === type ? [i] : []));
    if (places.length !== old.length) continue;
    for (const [i, place] of places.entries()) now[place] = structuredClone(old[i]!);
  }
}

function stampConditions(draft: Draft, before: Readonly<Draft>, nowMs: number): void {
  const now = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  for (const condition of conditionsOf(draft)) {
    condition.lastUpdateTime ??= now;
    condition.lastTransitionTime ??= transitionTime(condition, before) ?? now;
  }
}

function transitionTime({ type, status }: Condition, before: Readonly<Draft>): string | undefined {
  return conditionsOf(before).find((old) => old.type === type && old.status === status)?.lastTransitionTime;
}
