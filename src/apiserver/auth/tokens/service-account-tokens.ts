import type { Clock } from "../../../lib/base/clock.ts";
import { epochMs } from "../../../lib/base/time.ts";
import type { Caller, ObjectRef, Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { credentialId, serviceAccountGroups, serviceAccountUser } from "../names.ts";
import type { TokenAuthenticator, TokenResult } from "./bearer.ts";
import type { Claims } from "./jwt.ts";
import type { TokenIssuer } from "./token-issuer.ts";

/** How far clocks may differ, and how long a token outlives the object it is bound to. */
const leewaySeconds = 60;
const extraPrefix = "authentication.kubernetes.io/";

interface Ref {
  readonly name: string;
  readonly uid: string;
}

interface KubernetesClaims {
  readonly namespace: string;
  readonly serviceaccount: Ref;
  readonly pod?: Ref;
  readonly secret?: Ref;
  readonly node?: Ref;
}

/** Authenticates service account tokens, as long as the account and the bound object exist. */
export class ServiceAccountTokens implements TokenAuthenticator {
  readonly #o: { tokenIssuer: TokenIssuer; objects: () => Objects; clock: Clock };

  constructor(o: { tokenIssuer: TokenIssuer; objects: () => Objects; clock: Clock }) {
    this.#o = o;
  }

  async authenticate(token: string, requestedAudiences: readonly string[]): Promise<TokenResult> {
    const { tokenIssuer, clock } = this.#o;
    const checked = tokenIssuer.check(token);
    if (checked.kind === "foreign") return { kind: "unknown" };
    if (checked.kind === "bad") return rejected(checked.problem);
    const { claims } = checked;
    const given = audiencesOf(claims, tokenIssuer.audiences);
    const audiences = given.filter((audience) => requestedAudiences.includes(audience));
    if (audiences.length === 0)
      return rejected(
        `token audiences ${quoted(given)} is invalid for the target audiences ${quoted(requestedAudiences)}`,
      );
    const now = epochMs(clock.wall()) / 1000;
    const problem = timeProblem(claims, now);
    if (problem) return rejected(problem);
    const kubernetes = kubernetesClaims(claims);
    if (!kubernetes) return rejected("service account token claims could not be validated");
    const missing = await this.#missingObject(kubernetes, now);
    if (missing) return rejected(missing);
    return { kind: "authenticated", caller: callerOf(kubernetes, claims.jti), audiences };
  }

  async #missingObject(claims: KubernetesClaims, now: number): Promise<string | undefined> {
    const { namespace, serviceaccount, pod, secret, node } = claims;
    const account = await this.#get("serviceaccounts", namespace, serviceaccount.name);
    if (!account) return `serviceaccounts "${serviceaccount.name}" not found`;
    if (account.metadata.uid !== serviceaccount.uid)
      return `service account UID (${account.metadata.uid}) does not match claim (${serviceaccount.uid})`;
    if (isGone(account, now)) return `service account ${namespace}/${serviceaccount.name} has been deleted`;
    if (secret) {
      const problem = await this.#boundProblem(
        "secret",
        { resource: "secrets", namespace, name: secret.name },
        secret,
        now,
      );
      if (problem) return problem;
    }
    if (pod)
      return await this.#boundProblem("pod", { resource: "pods", namespace, name: pod.name }, pod, now);
    // A pod's token only names the node; it is bound to the pod.
    if (node)
      return await this.#boundProblem(
        "node",
        { resource: "nodes", namespace: "", name: node.name },
        node,
        now,
      );
    return undefined;
  }

  async #boundProblem(kind: string, ref: ObjectRef, claim: Ref, now: number): Promise<string | undefined> {
    const object = await this.#o.objects().get(ref);
    if (!object) return "service account token has been invalidated";
    if (object.metadata.uid !== claim.uid) {
      const shownUid = kind === "node" ? "node UID" : kind === "pod" ? "pod UID" : "secret UID";
      return `${shownUid} (${object.metadata.uid}) does not match service account ${kind} ref claim (${claim.uid})`;
    }
    return isGone(object, now) ? "service account token has been invalidated" : undefined;
  }

  #get(resource: string, namespace: string, name: string): Promise<ApiObject | undefined> {
    return this.#o.objects().get({ resource, namespace, name });
  }
}

const rejected = (problem: string): TokenResult => ({ kind: "rejected", problem });

function quoted(list: readonly string[]): string {
  return `[${list.map((item) => JSON.stringify(item)).join(" ")}]`;
}

function audiencesOf({ aud }: Claims, implied: readonly string[]): readonly string[] {
  const given = typeof aud === "string" ? [aud] : (aud ?? []);
  return given.length > 0 ? given : implied;
}

function timeProblem({ exp, nbf, iat }: Claims, now: number): string | undefined {
  if (nbf !== undefined && now + leewaySeconds < nbf) return "service account token is not valid yet";
  if (exp !== undefined && now - leewaySeconds > exp) return "service account token has expired";
  if (iat !== undefined && now + leewaySeconds < iat) return "service account token is issued in the future";
  return undefined;
}

function kubernetesClaims(claims: Claims): KubernetesClaims | undefined {
  const found = claims["kubernetes.io"] as Partial<KubernetesClaims> | undefined;
  if (!found?.namespace || !found.serviceaccount?.name || !found.serviceaccount.uid) return undefined;
  return found as KubernetesClaims;
}

function isGone({ metadata }: ApiObject, now: number): boolean {
  const at = metadata.deletionTimestamp;
  return typeof at === "string" && Date.parse(at) / 1000 < now - leewaySeconds;
}

function callerOf({ namespace, serviceaccount, pod, node }: KubernetesClaims, jti?: string): Caller {
  const extra: Record<string, string[]> = {};
  if (pod) {
    extra[`${extraPrefix}pod-name`] = [pod.name];
    extra[`${extraPrefix}pod-uid`] = [pod.uid];
  }
  if (jti) extra[credentialId] = [`JTI=${jti}`];
  if (node) {
    extra[`${extraPrefix}node-name`] = [node.name];
    if (node.uid) extra[`${extraPrefix}node-uid`] = [node.uid];
  }
  const name = serviceAccountUser(namespace, serviceaccount.name);
  return { name, uid: serviceaccount.uid, groups: serviceAccountGroups(name), extra };
}
