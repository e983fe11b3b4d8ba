import type { CallerLimits } from "../access.ts";
import type { Caller } from "../definition.ts";
import { masters, nodeNameOf } from "./names.ts";

const kibibyte = 1024;

/** A kubelet watches the objects of each of its pods, and writes their whole status. */
const ofNode: CallerLimits = {
  connections: 200,
  requests: 500,
  watches: 2000,
  bodyBytes: 3 * kibibyte * kibibyte,
};

/** Pods read their own namespace and write nothing but reviews; bootstrappers write certificate signing requests. */
const ofOthers: CallerLimits = {
  connections: 100,
  requests: 50,
  watches: 100,
  bodyBytes: 256 * kibibyte,
};

/** How much a caller may have open at a time; undefined: no limit, for the administrator and the API server itself. */
export function limitsOf(caller: Caller): CallerLimits | undefined {
  if (caller.groups.includes(masters)) return undefined;
  return nodeNameOf(caller) ? ofNode : ofOthers;
}
