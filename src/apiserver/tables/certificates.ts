import { humanDuration } from "../../lib/base/human-duration.ts";
import type { CertificateSigningRequest } from "../../lib/gen/kubernetes/certificates.d.ts";
import type { PodCertificateRequest } from "../../lib/gen/kubernetes/certificates-beta.d.ts";
import { ageColumn, column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

type RequestView = CertificateSigningRequest & Named;

type PodRequest = PodCertificateRequest & Named;

interface Bundle extends Named {
  readonly spec?: { readonly signerName?: string };
}

export const certificateSigningRequestTable = tableDefinition<RequestView>([
  nameColumn,
  ageColumn,
  column("SignerName", "The requested signer.", (o) => o.spec?.signerName || "<none>"),
  column("Requestor", "The user who created the request.", (o) => o.spec?.username ?? ""),
  column("RequestedDuration", "The requested lifetime of the certificate.", (o) =>
    o.spec?.expirationSeconds == null ? "<none>" : humanDuration(o.spec.expirationSeconds * 1000),
  ),
  column("Condition", "The state of the request.", condition),
]);

export const clusterTrustBundleTable = tableDefinition<Bundle>([
  nameColumn,
  column(
    "SignerName",
    "The signer of the certificates that it verifies.",
    (o) => o.spec?.signerName || "<none>",
  ),
]);

export const podCertificateRequestTable = tableDefinition<PodRequest>([
  nameColumn,
  column("PodName", "The pod that gets the certificate.", (o) => o.spec?.podName ?? ""),
  column("ServiceAccountName", "The service account of the pod.", (o) => o.spec?.serviceAccountName ?? ""),
  column("NodeName", "The node of the pod.", (o) => o.spec?.nodeName ?? ""),
  column("SignerName", "The requested signer.", (o) => o.spec?.signerName ?? ""),
  column("State", "Pending, Issued, Denied or Failed.", (o) => {
    const ended = o.status?.conditions?.findLast(({ type }) => ["Issued", "Denied", "Failed"].includes(type));
    return ended?.type ?? "Pending";
  }),
]);

function condition(request: RequestView): string {
  const has = (type: string) => request.status?.conditions?.some((each) => each.type === type) ?? false;
  const shown = [has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending"];
  if (has("Failed")) shown.push("Failed");
  if (request.status?.certificate) shown.push("Issued");
  return shown.join(",");
}
