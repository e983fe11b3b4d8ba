import type { ParsedRequest } from "../../../lib/base/x509/x509.ts";
import { nodes, nodeUserPrefix } from "../names.ts";
import { clientSigner, kubeletClientSigner, kubeletServingSigner } from "./signers.ts";

type Usages = readonly string[];

/** Why a signer rejects a request, undefined if it does not; "unknown" for other signers. */
export function signerError(
  signer: string,
  request: ParsedRequest,
  usages: Usages,
): { readonly error: string | undefined } | "unknown" {
  switch (signer) {
    case kubeletClientSigner:
      return { error: kubeletClientError(request, usages) };
    case kubeletServingSigner:
      return { error: kubeletServingError(request, usages) };
    case clientSigner:
      return { error: clientError(usages) };
    default:
      return "unknown";
  }
}

/** Why a request for a kubelet client certificate is invalid. */
export function kubeletClientError(request: ParsedRequest, usages: Usages): string | undefined {
  if (!onlySystemNodes(request)) return "subject organization is not system:nodes";
  if (request.dnsNames.length > 0) return "DNS subjectAltNames are not allowed";
  if (request.emails.length > 0) return "Email subjectAltNames are not allowed";
  if (request.ipAddresses.length > 0) return "IP subjectAltNames are not allowed";
  if (request.uris.length > 0) return "URI subjectAltNames are not allowed";
  if (!namesNode(request)) return "subject common name does not begin with system:node:";
  return usagesError(usages, "client auth");
}

/** Why a request for a kubelet serving certificate is invalid. */
export function kubeletServingError(request: ParsedRequest, usages: Usages): string | undefined {
  if (!onlySystemNodes(request)) return "subject organization is not system:nodes";
  if (request.dnsNames.length + request.ipAddresses.length === 0)
    return "DNS or IP subjectAltName is required";
  if (request.emails.length > 0) return "Email subjectAltNames are not allowed";
  if (request.uris.length > 0) return "URI subjectAltNames are not allowed";
  const error = usagesError(usages, "server auth");
  if (error) return error;
  return namesNode(request) ? undefined : "subject common name does not begin with system:node:";
}

function clientError(usages: Usages): string | undefined {
  const error = usages.find(
    (usage) => !["digital signature", "key encipherment", "client auth"].includes(usage),
  );
  if (error) return `invalid usage for client certificate: ${error}`;
  return usages.includes("client auth")
    ? undefined
    : "missing required usage for client certificate: client auth";
}

function onlySystemNodes({ subject }: ParsedRequest): boolean {
  return subject.organizations.length === 1 && subject.organizations[0] === nodes;
}

function namesNode({ subject }: ParsedRequest): boolean {
  return subject.commonName.startsWith(nodeUserPrefix);
}

/** Keys that cannot encipher (all but RSA) do not need that usage. */
function usagesError(usages: Usages, auth: "client auth" | "server auth"): string | undefined {
  const given = new Set(usages);
  given.delete("key encipherment");
  if (given.size === 2 && given.has("digital signature") && given.has(auth)) return undefined;
  const required = ["digital signature", "key encipherment", auth].sort((a, b) => (a < b ? -1 : 1));
  return `usages did not match [${required.join(" ")}]`;
}
