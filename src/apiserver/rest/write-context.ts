import type { Clock } from "../../lib/base/clock.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { Admission, AdmissionRequest } from "../access.ts";
import type { Caller, Objects, RequestContext } from "../definition.ts";
import type { Store } from "../storage/store.ts";
import type { Catalog, Served } from "./catalog.ts";
import type { Propagation } from "./delete-options.ts";
import type { Subject } from "./status.ts";

/** Dependencies of all writes. */
export interface WriteDependencies {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly admission: Admission | undefined;
  readonly clock: Clock;
  /** The API's internal access to objects; for a dry run it writes nothing. */
  objects(dryRun: boolean): Objects;
  /** The propagation policies that a controller handles. */
  readonly propagation: readonly Propagation[];
}

/** One write request, over HTTP or internal. */
export interface WriteRequest {
  readonly served: Served;
  /** "" if the resource has none. */
  readonly namespace: string;
  readonly caller: Caller;
  /** The field manager. */
  readonly manager: string;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

export function contextOf(dependencies: WriteDependencies, request: WriteRequest): RequestContext {
  const { caller, dryRun, signal } = request;
  return {
    caller,
    dryRun,
    signal,
    now: epochMs(dependencies.clock.wall()),
    objects: dependencies.objects(dryRun),
  };
}

export function admit(
  dependencies: WriteDependencies,
  request: WriteRequest,
  rest: Pick<AdmissionRequest, "operation" | "subresource" | "name"> & Partial<AdmissionRequest>,
): Promise<void> {
  if (!dependencies.admission) return Promise.resolve();
  const { served, namespace, caller, dryRun } = request;
  const { group, name: resource } = served.definition;
  return dependencies.admission.admit({ caller, group, resource, namespace, dryRun, ...rest });
}

export function subjectOf(served: Served, object: string): Subject {
  const { definition, group, resource } = served;
  return { name: definition.name, group, resource, object };
}
