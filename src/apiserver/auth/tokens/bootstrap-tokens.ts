import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../lib/base/clock.ts";
import { epochMs } from "../../../lib/base/time.ts";
import type { Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { bootstrappers } from "../names.ts";
import type { TokenAuthenticator, TokenResult } from "./bearer.ts";

const tokenPattern = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const extraGroup = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const secretType = "bootstrap.kubernetes.io/token";
const secretPrefix = "bootstrap-token-";

/** Authenticates joining nodes by bootstrap tokens, which are Secrets in kube-system. */
export class BootstrapTokens implements TokenAuthenticator {
  readonly #o: { objects: () => Objects; clock: Clock; audiences: readonly string[] };

  constructor(o: { objects: () => Objects; clock: Clock; audiences: readonly string[] }) {
    this.#o = o;
  }

  async authenticate(token: string, requestedAudiences: readonly string[]): Promise<TokenResult> {
    const [, id, secret] = tokenPattern.exec(token) ?? [];
    const audiences = this.#o.audiences.filter((audience) => requestedAudiences.includes(audience));
    if (id === undefined || secret === undefined || audiences.length === 0) return { kind: "unknown" };
    const found = await this.#o
      .objects()
      .get({ resource: "secrets", namespace: "kube-system", name: `${secretPrefix}${id}` });
    const groups = found && groupsOf(found, id, secret, epochMs(this.#o.clock.wall()));
    if (!groups) return { kind: "unknown" };
    return { kind: "authenticated", caller: { name: `system:bootstrap:${id}`, groups }, audiences };
  }
}

/** The groups of a bootstrap token's secret; undefined if it is not valid for authentication. */
function groupsOf(secret: ApiObject, id: string, token: string, now: number): string[] | undefined {
  const data = (secret.data ?? {}) as Record<string, string>;
  const value = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
  if (secret.metadata.deletionTimestamp !== undefined || secret.type !== secretType) return undefined;
  if (!sameText(value("token-secret"), token) || value("token-id") !== id) return undefined;
  const expiration = value("expiration");
  if (expiration !== "") {
    const at = Date.parse(expiration);
    if (Number.isNaN(at) || at <= now) return undefined;
  }
  if (value("usage-bootstrap-authentication") !== "true") return undefined;
  const extra = value("auth-extra-groups");
  const groups = extra === "" ? [] : extra.split(",").map((group) => group.trim());
  if (groups.some((group) => !extraGroup.test(group))) return undefined;
  return [...new Set([bootstrappers, ...groups])].sort((a, b) => (a < b ? -1 : 1));
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
