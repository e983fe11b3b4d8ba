import type { ActionSubresource, ResourceDefinition, Unstructured } from "../definition.ts";
import { defineKind } from "./define.ts";
import { nameIsSubdomain } from "./names.ts";

export function serviceAccounts(token: ActionSubresource): ResourceDefinition {
  return defineKind({
    group: "",
    version: "v1",
    name: "serviceaccounts",
    singular: "serviceaccount",
    kind: "ServiceAccount",
    namespaced: true,
    shortNames: ["sa"],
    nameRule: nameIsSubdomain,
    prepareCreate: nameSecretsOnly,
    prepareUpdate: nameSecretsOnly,
    subresources: { token },
  });
}

/** Secrets are in the account's own namespace: other fields of a reference are dropped. */
function nameSecretsOnly(draft: Unstructured): void {
  if (Array.isArray(draft.secrets)) draft.secrets = draft.secrets.map(({ name }) => ({ name }));
}
