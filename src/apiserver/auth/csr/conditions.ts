import type { Unstructured } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastUpdateTime?: string;
  lastTransitionTime?: string;
}

type HasStatus = Readonly<Unstructured> | ApiObject;

/** The conditions of a request, not a copy: changes to them change the request. */
export function conditionsOf({ status }: HasStatus): Condition[] {
  const { conditions } = (status ?? {}) as { conditions?: Condition[] };
  return conditions ?? [];
}

export function isTrue(request: HasStatus, type: "Approved" | "Denied" | "Failed"): boolean {
  return conditionsOf(request).some((condition) => condition.type === type && condition.status === "True");
}

export function certificateOf({ status }: HasStatus): string {
  return ((status ?? {}) as { certificate?: string }).certificate ?? "";
}
