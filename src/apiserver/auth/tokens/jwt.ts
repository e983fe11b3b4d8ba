import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { isObject } from "../../../lib/base/json-value.ts";

export interface Claims {
  readonly iss?: string;
  readonly sub?: string;
  readonly aud?: string | readonly string[];
  readonly exp?: number;
  readonly iat?: number;
  readonly nbf?: number;
  readonly jti?: string;
  readonly [claim: string]: unknown;
}

/** A key that signs or checks tokens, and the name under which tokens refer to it. */
export interface TokenKey {
  readonly id: string;
  readonly algorithm: "ES256" | "RS256";
  readonly publicKey: KeyObject;
  readonly privateKey?: KeyObject;
}

export function tokenKey(key: KeyObject): TokenKey {
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  const der = publicKey.export({ format: "der", type: "spki" });
  return {
    id: createHash("sha256").update(der).digest("base64url"),
    algorithm: publicKey.asymmetricKeyType === "rsa" ? "RS256" : "ES256",
    publicKey,
    ...(key.type === "private" && { privateKey: key }),
  };
}

export function signToken(key: TokenKey & { readonly privateKey: KeyObject }, claims: Claims): string {
  const body = `${encoded({ alg: key.algorithm, kid: key.id })}.${encoded(claims)}`;
  const signature = sign("sha256", Buffer.from(body), { key: key.privateKey, dsaEncoding: "ieee-p1363" });
  return `${body}.${signature.toString("base64url")}`;
}

export type Checked =
  /** It is not a token of this format; another authenticator may accept it. */
  | { readonly kind: "foreign" }
  | { readonly kind: "bad"; readonly problem: string }
  | { readonly kind: "good"; readonly claims: Claims };

/** Checks format, issuer and signature. The caller checks the claims. */
export function checkToken(token: string, issuer: string, keys: readonly TokenKey[]): Checked {
  const parts = token.split(".");
  if (parts.length !== 3 || parts.some((part) => !/^[A-Za-z0-9_-]+$/.test(part))) return { kind: "foreign" };
  const [header, payload, signature] = parts as [string, string, string];
  const claims = decoded(payload);
  if (claims?.iss !== issuer) return { kind: "foreign" };
  const head = decoded(header);
  if (!head) return { kind: "foreign" };
  const candidates = keys.filter((key) => head.kid === undefined || head.kid === "" || head.kid === key.id);
  if (candidates.length === 0) return { kind: "bad", problem: "invalid signature, no keys found" };
  const body = Buffer.from(`${header}.${payload}`);
  const signed = candidates.some(
    (key) =>
      // The key determines the algorithm, not the token: otherwise a client could choose "none".
      head.alg === key.algorithm &&
      verify(
        "sha256",
        body,
        { key: key.publicKey, dsaEncoding: "ieee-p1363" },
        Buffer.from(signature, "base64url"),
      ),
  );
  if (!signed) return { kind: "bad", problem: "go-jose/go-jose: error in cryptographic primitive" };
  return { kind: "good", claims };
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decoded(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return isObject(value) ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}
