import { messageOf } from "../../../lib/base/errors.ts";
import type { Admission, AdmissionRequest } from "../../access.ts";
import { parseSpecRequest } from "../csr/parse-spec.ts";
import { clientSigner } from "../csr/signers.ts";
import { masters } from "../names.ts";
import { forbidden, qualified } from "../problems.ts";

/** A certificate request cannot be used to become a member of system:masters. */
export const certificateSubjectRestriction: Admission = {
  async admit(request: AdmissionRequest): Promise<void> {
    const resource = qualified(request.resource, request.group);
    if (resource !== "certificatesigningrequests.certificates.k8s.io" || request.subresource) return;
    const spec = (request.object?.spec ?? {}) as { signerName?: string; request?: string };
    if (request.operation !== "CREATE" || spec.signerName !== clientSigner) return;
    let groups: readonly string[];
    try {
      groups = parseSpecRequest(spec.request).subject.organizations;
    } catch (error) {
      throw forbidden(request, `failed to parse CSR: ${messageOf(error)}`);
    }
    if (groups.includes(masters))
      throw forbidden(request, `use of ${clientSigner} signer with system:masters group is not allowed`);
  },
};

/** Runs the plugins in order; the first rejection wins. */
export function admissionChain(...all: readonly Admission[]): Admission {
  return {
    async admit(request) {
      for (const admission of all) await admission.admit(request);
    },
  };
}
