import { messageOf } from "../../lib/base/errors.ts";
import { pem } from "../../lib/base/x509/pem.ts";
import { parseRequest } from "../../lib/base/x509/x509.ts";
import { defineKind } from "./define.ts";
import type { FieldProblems } from "./field-problems.ts";
import { nameIsSubdomain } from "./names.ts";

const required = [
  ...["signerName", "podName", "podUID", "serviceAccountName", "serviceAccountUID", "nodeName", "nodeUID"],
  "stubPKCS10Request",
];
const dayInSeconds = 24 * 3600;
const hourInSeconds = 3600;
const results = ["Issued", "Denied", "Failed"];

/** Requests of kubelets for certificates of pods. No signer is part of the embedded API. */
export const podCertificateRequests = defineKind({
  group: "certificates.k8s.io",
  version: "v1beta1",
  name: "podcertificaterequests",
  singular: "podcertificaterequest",
  kind: "PodCertificateRequest",
  namespaced: true,
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.spec ??= {};
    draft.spec.maxExpirationSeconds ??= dayInSeconds;
  },
  check({ spec }, problems) {
    for (const field of required) if (!spec[field]) problems.required(`spec.${field}`);
    if (spec.maxExpirationSeconds < hourInSeconds)
      problems.invalid(
        "spec.maxExpirationSeconds",
        spec.maxExpirationSeconds,
        `must be in the range [${hourInSeconds}, ${91 * dayInSeconds}]`,
      );
    if (spec.stubPKCS10Request) checkRequest(spec.stubPKCS10Request, problems);
  },
  checkUpdate(draft, oldObject, problems) {
    problems.immutable("spec", draft.spec, oldObject.spec);
  },
  status: {
    checkUpdate({ status }, _, problems) {
      const types: string[] = (status?.conditions ?? []).map(({ type }: { type: string }) => type);
      if (types.filter((type) => results.includes(type)).length > 1)
        problems.invalid(
          "status.conditions",
          types,
          'There may be at most one condition with type "Issued", "Denied", or "Failed"',
        );
      const { certificateChain, beginRefreshAt, notBefore, notAfter } = status ?? {};
      if (!types.includes("Issued")) return;
      for (const [field, value] of Object.entries({ certificateChain, beginRefreshAt, notBefore, notAfter }))
        if (!value)
          problems.required(`status.${field}`, "must be present and consistent with the issued certificate");
    },
  },
});

function checkRequest(base64: string, problems: FieldProblems): void {
  const path = "spec.stubPKCS10Request";
  try {
    const { signatureValid } = parseRequest(pem("CERTIFICATE REQUEST", Buffer.from(base64, "base64")));
    if (!signatureValid) problems.invalid(path, "<value omitted>", "signature is not valid");
  } catch (error) {
    problems.invalid(path, "<value omitted>", messageOf(error));
  }
}
