import { badRequest, invalid } from "./problems.ts";
import { dryRun, flag } from "./query.ts";

export type Propagation = "Orphan" | "Foreground" | "Background";

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: Propagation;
  readonly orphanDependents?: boolean;
  readonly dryRun: boolean;
}

const about = { kind: "DeleteOptions", group: "meta.k8s.io" };
const policies = ["Foreground", "Background", "Orphan"];

/** The options in the body, or in the query if there is no body. */
export function deleteOptions(body: unknown, query: URLSearchParams): DeleteOptions {
  const fields = body === undefined ? fromQuery(query) : fromBody(body);
  const { propagationPolicy, orphanDependents, gracePeriodSeconds, preconditions } = fields;
  if (propagationPolicy !== undefined && orphanDependents !== undefined)
    throw invalidPolicy(
      `Invalid value: ${JSON.stringify(propagationPolicy)}: orphanDependents and deletionPropagation cannot be both set`,
    );
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy as string))
    throw invalidPolicy(
      `Unsupported value: ${JSON.stringify(propagationPolicy)}: supported values: "Background", "Foreground", "Orphan", "nil"`,
    );
  if (gracePeriodSeconds !== undefined && !Number.isSafeInteger(gracePeriodSeconds))
    throw badRequest("gracePeriodSeconds must be a whole number");
  return {
    dryRun: dryRun((fields.dryRun as string[] | undefined) ?? [], about),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds: gracePeriodSeconds as number }),
    ...(propagationPolicy !== undefined && { propagationPolicy: propagationPolicy as Propagation }),
    ...(orphanDependents !== undefined && { orphanDependents: orphanDependents === true }),
    ...(preconditions !== undefined && { preconditions: preconditions as { uid?: string } }),
  };
}

type Fields = Partial<Record<keyof DeleteOptions, unknown>>;

function fromQuery(query: URLSearchParams): Fields {
  const grace = query.get("gracePeriodSeconds");
  return present({
    gracePeriodSeconds: grace ? Number(grace) : undefined,
    propagationPolicy: query.get("propagationPolicy") || undefined,
    orphanDependents: flag(query, "orphanDependents"),
    dryRun: query.getAll("dryRun"),
  });
}

function fromBody(body: unknown): Fields {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw badRequest("decoded object cannot be converted to DeleteOptions");
  const fields = body as Record<string, unknown>;
  if (fields.kind !== undefined && fields.kind !== "" && fields.kind !== "DeleteOptions")
    throw badRequest("decoded object cannot be converted to DeleteOptions");
  const { gracePeriodSeconds, preconditions, propagationPolicy, orphanDependents } = fields;
  const { dryRun: dry } = fields;
  if (preconditions !== undefined && preconditions !== null && typeof preconditions !== "object")
    throw badRequest("preconditions must be an object");
  if (dry !== undefined && dry !== null && !Array.isArray(dry)) throw badRequest("dryRun must be a list");
  return present({ gracePeriodSeconds, preconditions, propagationPolicy, orphanDependents, dryRun: dry });
}

/** A null field is absent. */
function present(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}

function invalidPolicy(message: string) {
  return invalid(about, "", [{ path: "propagationPolicy", message }]);
}
