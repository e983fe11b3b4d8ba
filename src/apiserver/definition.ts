import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { OwnerReference } from "../lib/gen/kubernetes/meta.d.ts";
import type { Problem } from "../lib/model/validation/problem.ts";
import type { ApiObject } from "./storage/object.ts";

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/**
 * An object as a JSON map, like Unstructured of apimachinery. Variables named `draft` have the object of a request, which is changed in
 * place (defaults, admission) before it is stored.
 */
export interface Unstructured {
  apiVersion?: string;
  kind?: string;
  metadata: DraftMeta;
  // biome-ignore lint/suspicious/noExplicitAny: the definition of the kind knows what is inside.
  [field: string]: any;
}

/** An object that is to be created: the server sets what its metadata lacks. */
export type NewObject = Omit<Unstructured, "metadata"> & { metadata: Partial<DraftMeta> };

/** The metadata of a draft; mutable, unlike `ObjectMeta` of the storage. */
export interface DraftMeta {
  name: string;
  generateName?: string;
  /** Absent or empty for cluster-scoped objects. */
  namespace?: string;
  uid: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: unknown[];
}

/** The caller. */
export interface Caller {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The context of a request, for definitions. */
export interface RequestContext {
  readonly caller: Caller;
  readonly now: number;
  readonly dryRun: boolean;
  readonly objects: Objects;
  readonly signal: AbortSignal;
}

export interface ObjectRef {
  /** Plural, and the group if there is one: "pods", "leases.coordination.k8s.io". */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** The API's own objects, for its definitions and controllers. They are accessed without HTTP, by the same rules as over HTTP. */
export interface Objects {
  get(ref: ObjectRef): Promise<ApiObject | undefined>;
  list(resource: string, namespace?: string): Promise<readonly ApiObject[]>;
  create(resource: string, draft: NewObject): Promise<ApiObject>;
  /** Reads, changes, writes; repeated on a conflict. Undefined if the object does not exist, or no longer exists. */
  change(
    ref: ObjectRef,
    change: (draft: Unstructured) => void,
    options?: { readonly subresource?: string; readonly uid?: string },
  ): Promise<ApiObject | undefined>;
  delete(
    ref: ObjectRef,
    options?: { readonly uid?: string; readonly gracePeriodSeconds?: number },
  ): Promise<ApiObject | undefined>;
  /** Each change of a resource, after the existing objects (as ADDED). Ends when aborted. */
  listAndWatch(
    resource: string,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: ApiObject }>;
}

export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch";

/** The definition of a kind. Functions change `draft` in place; all of them are optional. */
export interface ResourceDefinition {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural. */
  readonly name: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** All of them by default. */
  readonly verbs?: readonly Verb[];

  /** Other versions under which the same objects are served, e.g. events of events.k8s.io. The version defined here is stored. */
  readonly alsoServedAs?: readonly ServedVersion[];

  /** Sets defaults of absent fields. Called on every write; must be idempotent. */
  defaults?(draft: Unstructured): void;
  /** Called before the first write: clears fields that users may not set, and sets those that only the server sets. */
  prepareCreate?(draft: Unstructured, context: RequestContext): void | Promise<void>;
  validate?(draft: Unstructured, context: RequestContext): readonly Problem[];
  /** Called before an update of the main resource: restores fields that it cannot change (status) from `oldObject`. */
  prepareUpdate?(draft: Unstructured, oldObject: ApiObject, context: RequestContext): void | Promise<void>;
  validateUpdate?(draft: Unstructured, oldObject: ApiObject, context: RequestContext): readonly Problem[];
  /** True if metadata.generation is incremented by changes of anything but metadata and status. Default: true if the kind has a spec. */
  readonly countsGenerations?: boolean;
  /** The grace period of a deletion; 0 or absent: the object is removed immediately (except for finalizers). */
  deletionGrace?(current: ApiObject, requested: number | undefined, context: RequestContext): number;
  /** Called before a deletion: rejects it (StatusError), or changes the object if it is kept for its grace period. */
  prepareDelete?(draft: Unstructured, context: RequestContext): void | Promise<void>;
  /** True while a deleted object must be kept although its metadata has no finalizers: namespaces have them in their spec. */
  hasSpecFinalizers?(current: ApiObject): boolean;
  /** A deletion returns the removed object instead of a Status. Default: true if the kind has a deletionGrace. */
  readonly returnsDeleted?: boolean;
  /** A PUT creates an object that does not exist. */
  readonly createsOnUpdate?: boolean;
  /** Handles a create instead of the store: for reviews, which are evaluated and not stored. */
  handleCreate?(draft: Unstructured, context: RequestContext): Promise<ApiObject>;
  /** Objects that are generated on request instead of stored. They support get and list only. */
  readonly virtual?: VirtualObjects;

  readonly subresources?: Readonly<Record<string, Subresource>>;
}

export interface VirtualObjects {
  get(ref: ObjectRef, context: RequestContext): Promise<ApiObject | undefined>;
  /** The objects of a namespace, or of all namespaces if it is "". Selectors are applied to the result. */
  list(namespace: string, context: RequestContext): Promise<readonly ApiObject[]>;
  /** The resource name in "not found" messages; by default the one in the path. */
  missing?(ref: ObjectRef): { readonly resource: string; readonly name: string };
}

export interface ServedVersion {
  readonly group: string;
  readonly version: string;
  toStored(draft: Unstructured): void;
  fromStored(draft: Unstructured): void;
}

export type Subresource = UpdateSubresource | ActionSubresource | ConnectSubresource;

/** A subresource through which fields of the object itself are updated: status, ephemeralcontainers, resize. */
export interface UpdateSubresource {
  readonly type: "update";
  /** The fields that it does not write, for managedFields: [["spec"]] for status. */
  readonly ignored: readonly (readonly string[])[];
  /** Restores all fields that this subresource does not change from `oldObject`. */
  prepareUpdate(draft: Unstructured, oldObject: ApiObject, context: RequestContext): void;
  validateUpdate?(draft: Unstructured, oldObject: ApiObject, context: RequestContext): readonly Problem[];
  /** True: for `Objects.change` only, neither served over HTTP nor listed in discovery. */
  readonly internal?: boolean;
  /** False: changes through it do not increment the generation, though other changes do. */
  readonly countsGenerations?: boolean;
}

/** POST of another kind of object: binding, eviction, token. */
export interface ActionSubresource {
  readonly type: "action";
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  act(ref: ObjectRef, body: Unstructured, context: RequestContext): Promise<ApiObject>;
}

/** Proxied unchanged: log, exec, attach, portforward, proxy. */
export interface ConnectSubresource {
  readonly type: "connect";
  readonly verbs: readonly ("get" | "create" | "update" | "patch" | "delete")[];
  /** `rest` is what follows the name of the subresource in the path: "/metrics" in nodes/n/proxy/metrics. */
  connect(ref: ObjectRef, rest: string, request: ConnectRequest, context: RequestContext): Promise<void>;
}

export type ConnectRequest =
  | { readonly kind: "request"; readonly request: IncomingMessage; readonly response: ServerResponse }
  | {
      readonly kind: "upgrade";
      readonly request: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Buffer;
    };
