import { type KeyObject, randomUUID } from "node:crypto";
import { type Checked, type Claims, checkToken, signToken, type TokenKey, tokenKey } from "./jwt.ts";

const defaultIssuer = "https://kubernetes.default.svc.cluster.local";

/** The account of a token, and the object that it is bound to: a pod together with its node, a secret, or a node. */
export interface TokenSubject {
  readonly namespace: string;
  readonly serviceAccount: Bound;
  readonly pod?: Bound;
  readonly secret?: Bound;
  readonly node?: { readonly name: string; readonly uid?: string };
}

export interface Bound {
  readonly name: string;
  readonly uid: string;
}

/** Signs and verifies service account tokens. Whether the account and bound object still exist is checked elsewhere. */
export class TokenIssuer {
  readonly issuer: string;
  /** The default audience of a token: the API itself. */
  readonly audiences: readonly string[];
  readonly #key: TokenKey & { privateKey: KeyObject };

  constructor(o: { key: KeyObject; issuer?: string; audiences?: readonly string[] }) {
    this.#key = { ...tokenKey(o.key), privateKey: o.key };
    this.issuer = o.issuer ?? defaultIssuer;
    this.audiences = o.audiences ?? [this.issuer];
  }

  issue(
    subject: TokenSubject,
    o: { audiences: readonly string[]; nowMs: number; seconds: number; warnAfterSeconds?: number },
  ): string {
    const now = Math.floor(o.nowMs / 1000);
    const { namespace, serviceAccount, pod, secret, node } = subject;
    return signToken(this.#key, {
      aud: o.audiences,
      exp: now + o.seconds,
      iat: now,
      iss: this.issuer,
      jti: randomUUID(),
      "kubernetes.io": {
        namespace,
        ...(node && { node }),
        ...(pod && { pod }),
        ...(secret && { secret }),
        serviceaccount: serviceAccount,
        ...(o.warnAfterSeconds !== undefined && { warnafter: now + o.warnAfterSeconds }),
      },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${serviceAccount.name}`,
    } satisfies Claims);
  }

  check(token: string): Checked {
    return checkToken(token, this.issuer, [this.#key]);
  }

  /** OIDC discovery and JWKS: /.well-known/openid-configuration and /openid/v1/jwks. */
  discovery(jwksUri: string): { configuration: object; keys: object } {
    const { id, algorithm, publicKey } = this.#key;
    return {
      configuration: {
        issuer: this.issuer,
        jwks_uri: jwksUri,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: [algorithm],
      },
      keys: { keys: [{ use: "sig", kid: id, alg: algorithm, ...publicKey.export({ format: "jwk" }) }] },
    };
  }
}
