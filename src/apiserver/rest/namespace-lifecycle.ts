import { StatusError } from "../status-error.ts";
import { isStoreError } from "../storage/errors.ts";
import type { Store } from "../storage/store.ts";
import type { Catalog, Served } from "./catalog.ts";
import { forbidden, notFoundError } from "./problems.ts";

const namespaces = { name: "namespaces", group: "" };

/** Rejects the creation of objects in a namespace that does not exist or is terminating. */
export async function checkNamespace(
  { store, catalog }: { readonly store: Store; readonly catalog: Catalog },
  served: Served,
  namespace: string,
  name: string,
): Promise<void> {
  // Whether a namespace exists is not disclosed by access reviews.
  if (namespace === "" || !catalog.has("namespaces") || served.definition.handleCreate) return;
  let found: Record<string, unknown>;
  try {
    found = (await store.get({ resource: "namespaces", namespace: "", name: namespace })).value;
  } catch (error) {
    if (isStoreError(error, "NotFound")) throw notFoundError(namespaces, "namespaces", namespace);
    throw error;
  }
  if ((found.status as { phase?: string } | undefined)?.phase !== "Terminating") return;
  const { definition, group, resource } = served;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const forbiddenError = forbidden({ name: definition.name, group }, resource, name, why);
  throw new StatusError(403, forbiddenError.reason, forbiddenError.message, {
    ...forbiddenError.details,
    causes: [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  });
}
