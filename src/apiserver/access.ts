import type { IncomingMessage } from "node:http";
import type { Caller, Unstructured } from "./definition.ts";
import type { ApiObject } from "./storage/object.ts";

/** Authenticates a request, by certificate or token. */
export interface Authenticator {
  /** Undefined: not authenticated; the response is 401. Anonymous callers are named by the authenticator. */
  authenticate(request: IncomingMessage): Promise<Caller | undefined>;
}

/** The attributes of a request that an authorizer decides on. */
export interface Attributes {
  /** get, list, watch, create, update, patch, delete, deletecollection; the lower-case HTTP method for other paths. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** Plural; "" if the path is not a resource. */
  readonly resource: string;
  readonly subresource: string;
  /** "" for cluster-wide objects, and for lists across all namespaces. */
  readonly namespace: string;
  /** "" for lists and creations, and the value of a `metadata.name` field selector in lists and watches. */
  readonly name: string;
  /** Set if, and only if, the path is not a resource. */
  readonly path?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface Decision {
  readonly allowed: boolean;
  readonly reason?: string;
}

export interface Authorizer {
  allows(caller: Caller, attributes: Attributes): Promise<Decision>;
}

export interface AdmissionRequest {
  readonly caller: Caller;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** "" if the name is still to be generated. */
  readonly name: string;
  /** The object to be written, which may be changed in place; for actions such as bindings, the request body. */
  readonly object?: Unstructured;
  readonly oldObject?: ApiObject;
  readonly dryRun: boolean;
  /** The DeleteOptions of a deletion. */
  readonly options?: unknown;
}

/** How much one user may have open at a time. */
export interface CallerLimits {
  readonly connections: number;
  /** Requests in progress, except watches. */
  readonly requests: number;
  /** Watches, and connections to pods and nodes. */
  readonly watches: number;
  readonly bodyBytes: number;
}

/** The last step before a write: may change the object, rejects with a StatusError. */
export interface Admission {
  admit(request: AdmissionRequest): Promise<void>;
}
