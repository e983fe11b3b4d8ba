import type { BoundObjectReference, TokenRequestSpec } from "../../lib/gen/kubernetes/authentication.d.ts";
import type { ActionSubresource, Objects, RequestContext, Unstructured } from "../definition.ts";
import { FieldProblems } from "../kinds/field-problems.ts";
import { invalid } from "../rest/problems.ts";
import type { ApiObject } from "../storage/object.ts";
import { badRequest, conflict, notFound } from "./problems.ts";
import type { TokenIssuer, TokenSubject } from "./tokens/token-issuer.ts";

const group = "authentication.k8s.io";
const kind = "TokenRequest";
/**
 * The lifetime that kubelets request for the token of each pod. Old clients never reload it, so its expiration is
 * extended (`warnafter`).
 */
const injectedTokenSeconds = 3607;
const extendedSeconds = 365 * 24 * 3600;

/** POST serviceaccounts/<name>/token: a token for the account, bound to a pod, secret or node on request. */
export function serviceAccountToken(o: { tokenIssuer: TokenIssuer }): ActionSubresource {
  const { tokenIssuer } = o;
  return {
    type: "action",
    kind,
    group,
    version: "v1",
    async act(ref, body, context) {
      const account = await context.objects.get(ref);
      checkNames(body, ref.name, ref.namespace);
      if (!account) throw notFound("serviceaccounts", ref.name);
      const uid = account.metadata.uid;
      if (body.metadata?.uid && body.metadata.uid !== uid)
        throw conflict(
          kind,
          group,
          ref.name,
          `the UID in the token request (${body.metadata.uid}) does not match the UID of the service account (${uid})`,
        );
      const spec: TokenRequestSpec = { ...(body.spec as TokenRequestSpec | undefined) };
      if (!spec.audiences?.length) spec.audiences = [...tokenIssuer.audiences];
      spec.expirationSeconds ??= 3600;
      checkSpec(spec.expirationSeconds);
      const bound = await boundTo(spec.boundObjectRef, ref.name, ref.namespace, context.objects);
      return tokenRequestOf(
        account,
        { ...spec, audiences: spec.audiences, expirationSeconds: spec.expirationSeconds },
        bound,
        tokenIssuer,
        context,
      );
    },
  };
}

function checkNames(body: Unstructured, name: string, namespace: string): void {
  const { name: ownName, namespace: ownNamespace } = body.metadata ?? {};
  const problems = new FieldProblems();
  if (ownName && ownName !== name)
    problems.invalid("metadata.name", ownName, "must match the service account name if specified");
  else if (ownNamespace && ownNamespace !== namespace)
    problems.invalid(
      "metadata.namespace",
      ownNamespace,
      "must match the service account namespace if specified",
    );
  if (problems.list.length > 0) throw invalid({ kind, group }, name, problems.list);
}

function checkSpec(seconds: number): void {
  const problems = new FieldProblems();
  const path = "spec.expirationSeconds";
  if (seconds < 600) problems.invalid(path, seconds, "may not specify a duration less than 10 minutes");
  if (seconds > 2 ** 32)
    problems.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds");
  if (problems.list.length > 0) throw invalid({ kind, group }, "", problems.list);
}

type Binding = Pick<TokenSubject, "pod" | "secret" | "node">;

async function boundTo(
  ref: BoundObjectReference | undefined,
  account: string,
  namespace: string,
  objects: Objects,
): Promise<Binding> {
  if (!ref) return {};
  const { name = "" } = ref;
  const find = async (resource: string, inNamespace: string) => {
    const found = await objects.get({ resource, namespace: inNamespace, name });
    if (!found) throw notFound(resource, name);
    return found;
  };
  const [boundGroup, version] = groupVersion(ref.apiVersion ?? "");
  if (boundGroup !== "" || !["Pod", "Node", "Secret"].includes(ref.kind ?? ""))
    throw badRequest(`cannot bind token to object of type ${boundGroup}/${version}, Kind=${ref.kind ?? ""}`);
  switch (ref.kind) {
    case "Pod": {
      const pod = await find("pods", namespace);
      const spec = pod.spec as { serviceAccountName?: string; nodeName?: string };
      if (spec.serviceAccountName !== account)
        throw badRequest(
          `cannot bind token for serviceaccount "${account}" to pod running with different serviceaccount name.`,
        );
      const bound = verifiedRef(ref, pod);
      const node = await nodeOf(spec.nodeName, objects);
      return { pod: bound, ...(node && { node }) };
    }
    case "Node":
      return { node: verifiedRef(ref, await find("nodes", "")) };
    default:
      return { secret: verifiedRef(ref, await find("secrets", namespace)) };
  }
}

async function nodeOf(name: string | undefined, objects: Objects): Promise<TokenSubject["node"]> {
  if (!name) return undefined;
  const node = await objects.get({ resource: "nodes", namespace: "", name });
  // A missing node is still recorded by name.
  return node ? { name, uid: node.metadata.uid } : { name };
}

function verifiedRef(ref: BoundObjectReference, { metadata }: ApiObject): { name: string; uid: string } {
  if (ref.uid && ref.uid !== metadata.uid)
    throw conflict(
      ref.kind ?? "",
      "",
      metadata.name,
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  return { name: metadata.name, uid: metadata.uid };
}

function groupVersion(apiVersion: string): [string, string] {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? ["", apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}

function tokenRequestOf(
  account: ApiObject,
  spec: TokenRequestSpec & { audiences: string[]; expirationSeconds: number },
  bound: Binding,
  tokenIssuer: TokenIssuer,
  context: RequestContext,
): ApiObject {
  const { name, namespace = "", uid } = account.metadata;
  const seconds = spec.expirationSeconds;
  const isForApi = spec.audiences.every((audience) => tokenIssuer.audiences.includes(audience));
  const extended = bound.pod !== undefined && seconds === injectedTokenSeconds && isForApi;
  const token = tokenIssuer.issue(
    { namespace, serviceAccount: { name, uid }, ...bound },
    {
      audiences: spec.audiences,
      nowMs: context.now,
      seconds: extended ? extendedSeconds : seconds,
      ...(extended && { warnAfterSeconds: seconds }),
    },
  );
  return {
    kind,
    apiVersion: `${group}/v1`,
    metadata: { name, namespace, uid, creationTimestamp: stamp(context.now) },
    spec: {
      audiences: spec.audiences,
      expirationSeconds: seconds,
      boundObjectRef: spec.boundObjectRef ?? null,
    },
    status: { token, expirationTimestamp: stamp(context.now + seconds * 1000) },
  };
}

function stamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
