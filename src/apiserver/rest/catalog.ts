import type { ResourceDefinition, ServedVersion, Unstructured, Verb } from "../definition.ts";
import { type Schema, schemaFor } from "../patch/schema.ts";

/** A resource in one of its served versions. */
export interface Served {
  readonly definition: ResourceDefinition;
  readonly group: string;
  readonly version: string;
  /** "v1", "coordination.k8s.io/v1". */
  readonly apiVersion: string;
  /** The name in messages and in the store: "pods", "leases.coordination.k8s.io". */
  readonly resource: string;
  /** The resource under which objects are stored: the same, except for resources that are also served under another group. */
  readonly storedAs: string;
  readonly storedApiVersion: string;
  readonly schema: Schema;
  readonly storedSchema: Schema;
  /** Absent if the served version is the stored one. */
  readonly conversion: ServedVersion | undefined;
}

const allVerbs: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** All served resources. */
export class Catalog {
  readonly all: readonly Served[];
  readonly #byPath = new Map<string, Served>();
  readonly #byName = new Map<string, Served>();

  constructor(definitions: readonly ResourceDefinition[]) {
    this.all = definitions.flatMap(servedVersions);
    for (const served of this.all) {
      this.#byPath.set(`${served.apiVersion}/${served.definition.name}`, served);
      if (!this.#byName.has(served.resource)) this.#byName.set(served.resource, served);
    }
  }

  find(apiVersion: string, plural: string): Served | undefined {
    return this.#byPath.get(`${apiVersion}/${plural}`);
  }

  /** Finds a resource by plural and group, as in ObjectRef. */
  named(resource: string): Served {
    const served = this.#byName.get(resource);
    if (!served) throw new Error(`the API has no ${resource}`);
    return served;
  }

  has(resource: string): boolean {
    return this.#byName.has(resource);
  }

  offers(apiVersion: string): boolean {
    return this.all.some((served) => served.apiVersion === apiVersion);
  }
}

export function verbsOf(definition: ResourceDefinition): readonly Verb[] {
  if (definition.verbs) return definition.verbs;
  if (definition.virtual) return ["get", "list"];
  return definition.handleCreate ? ["create"] : allVerbs;
}

export function apiVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

export function resourceName(plural: string, group: string): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** "Pod", "Lease.coordination.k8s.io": the name in validation messages. */
export function kindName(kind: string, group: string): string {
  return group === "" ? kind : `${kind}.${group}`;
}

function servedVersions(definition: ResourceDefinition): Served[] {
  const { group, version, name, kind } = definition;
  const stored = { group, version, conversion: undefined };
  const others = (definition.alsoServedAs ?? []).map((conversion) => ({ ...conversion, conversion }));
  return [stored, ...others].map((served) => ({
    definition,
    group: served.group,
    version: served.version,
    apiVersion: apiVersionOf(served.group, served.version),
    resource: resourceName(name, served.group),
    storedAs: resourceName(name, group),
    storedApiVersion: apiVersionOf(group, version),
    schema: schemaFor(apiVersionOf(served.group, served.version), kind),
    storedSchema: schemaFor(apiVersionOf(group, version), kind),
    conversion: served.conversion,
  }));
}

/** Converts a draft from the requested version into the stored one. */
export function toStored(served: Served, draft: Unstructured): void {
  served.conversion?.toStored(draft);
  draft.apiVersion = served.storedApiVersion;
  draft.kind = served.definition.kind;
}

/** Converts a copy of a stored object into the requested version. */
export function fromStored(served: Served, draft: Unstructured): void {
  served.conversion?.fromStored(draft);
  draft.apiVersion = served.apiVersion;
  draft.kind = served.definition.kind;
}
