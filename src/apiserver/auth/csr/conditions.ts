import type { CertificateSigningRequestCondition } from "../../../lib/gen/kubernetes/certificates.d.ts";
import type { Unstructured } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";

type HasStatus = Readonly<Unstructured> | ApiObject;

/** The conditions of a request, not a copy: changes to them change the request. */
export function conditionsOf({ status }: HasStatus): CertificateSigningRequestCondition[] {
  const { conditions } = (status ?? {}) as { conditions?: CertificateSigningRequestCondition[] };
  return conditions ?? [];
}

export function isTrue(request: HasStatus, type: "Approved" | "Denied" | "Failed"): boolean {
  return conditionsOf(request).some((condition) => condition.type === type && condition.status === "True");
}

export function certificateOf({ status }: HasStatus): string {
  return ((status ?? {}) as { certificate?: string }).certificate ?? "";
}
