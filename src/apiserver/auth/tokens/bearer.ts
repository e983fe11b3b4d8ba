import type { Caller } from "../../definition.ts";

export type TokenResult =
  | { readonly kind: "authenticated"; readonly caller: Caller; readonly audiences: readonly string[] }
  /** Not a token of this kind, or issued by another issuer. */
  | { readonly kind: "unknown" }
  | { readonly kind: "rejected"; readonly problem: string };

export interface TokenAuthenticator {
  /** Accepts tokens for at least one of the audiences. The result has the audiences that both name. */
  authenticate(token: string, audiences: readonly string[]): Promise<TokenResult>;
}

/** The first authenticator that accepts the token decides. */
export function unionTokenAuthenticator(...all: readonly TokenAuthenticator[]): TokenAuthenticator {
  return {
    async authenticate(token, audiences) {
      const problems: string[] = [];
      for (const one of all) {
        const result = await one.authenticate(token, audiences);
        if (result.kind === "authenticated") return result;
        if (result.kind === "rejected") problems.push(result.problem);
      }
      return problems.length > 0 ? { kind: "rejected", problem: problems.join(", ") } : { kind: "unknown" };
    },
  };
}
