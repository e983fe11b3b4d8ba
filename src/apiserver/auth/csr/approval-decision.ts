import { isIP } from "node:net";
import type { ParsedRequest } from "../../../lib/base/x509/x509.ts";
import type { Attributes, Authorizer } from "../../access.ts";
import type { Caller, Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { nodeNameOf } from "../names.ts";
import type { OwnNames } from "../pki/own-names.ts";
import { certificateOf, isTrue } from "./conditions.ts";
import { kubeletClientError, kubeletServingError } from "./kubelet-subjects.ts";
import { parseSpecRequest } from "./parse-spec.ts";
import { impersonatedBy } from "./plan-signing.ts";
import { kubeletClientSigner, kubeletServingSigner } from "./signers.ts";

export type Approval =
  | { readonly kind: "approve"; readonly message: string }
  /** The names are not (yet) known to belong to this node: the request is checked again when the node changes. */
  | { readonly kind: "wait"; readonly node: string; readonly reason: string }
  /** Another approver decides, or the request is already decided. */
  | { readonly kind: "ignore" };

export interface RequestSpec {
  readonly request?: string;
  readonly signerName?: string;
  readonly usages?: readonly string[];
  readonly expirationSeconds?: number;
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
}

const ignore: Approval = { kind: "ignore" };

/** Whether a request is approved automatically. */
export async function decideApproval(
  request: ApiObject,
  o: { authorizer: Authorizer; objects: Objects; ownNames: OwnNames },
): Promise<Approval> {
  if (certificateOf(request) || isTrue(request, "Approved") || isTrue(request, "Denied")) return ignore;
  const spec = (request.spec ?? {}) as RequestSpec;
  const caller: Caller = { name: spec.username ?? "", groups: spec.groups ?? [] };
  const parsed = parseSpecRequest(spec.request);
  const usages = spec.usages ?? [];
  if (spec.signerName === kubeletClientSigner && !kubeletClientError(parsed, usages))
    return await decideClient(caller, parsed, o.authorizer);
  if (spec.signerName === kubeletServingSigner && !kubeletServingError(parsed, usages))
    // The signer rejects it, even after a manual approval.
    return impersonatedBy(parsed, o.ownNames).length > 0
      ? ignore
      : await decideServing(caller, parsed, o.objects);
  return ignore;
}

async function decideClient(
  caller: Caller,
  parsed: ParsedRequest,
  authorizer: Authorizer,
): Promise<Approval> {
  const may = async (subresource: string) =>
    (await authorizer.allows(caller, attributesOf(subresource))).allowed;
  if (caller.name === parsed.subject.commonName && (await may("selfnodeclient")))
    return {
      kind: "approve",
      message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
    };
  if (await may("nodeclient"))
    return {
      kind: "approve",
      message: "Auto approving kubelet client certificate after SubjectAccessReview.",
    };
  return ignore;
}

function attributesOf(subresource: string): Attributes {
  const resource = "certificatesigningrequests";
  return {
    verb: "create",
    group: "certificates.k8s.io",
    version: "*",
    resource,
    subresource,
    namespace: "",
    name: "",
  };
}

/** A node gets a serving certificate for its own names and addresses, as listed in its Node object. */
async function decideServing(caller: Caller, parsed: ParsedRequest, objects: Objects): Promise<Approval> {
  const name = nodeNameOf(caller);
  if (!name || caller.name !== parsed.subject.commonName) return ignore;
  const node = await objects.get({ resource: "nodes", namespace: "", name });
  if (!node) return { kind: "wait", node: name, reason: "the node is not registered" };
  const known = new Set([name, ...addressesOf(node)].map(canonical));
  const foreign = [...parsed.dnsNames, ...parsed.ipAddresses].filter(
    (requested) => !known.has(canonical(requested)),
  );
  if (foreign.length > 0)
    return { kind: "wait", node: name, reason: `not a name or address of the node: ${foreign.join(", ")}` };
  return {
    kind: "approve",
    message: "Auto approving kubelet serving certificate: its names and addresses are those of the node.",
  };
}

function addressesOf(node: ApiObject): string[] {
  const { addresses = [] } = (node.status ?? {}) as { addresses?: { address?: string }[] };
  return addresses.flatMap(({ address }) => address ?? []);
}

/** The canonical form of an address. */
function canonical(name: string): string {
  if (isIP(name) !== 6) return name.toLowerCase();
  return new URL(`http://[${name}]/`).hostname;
}
