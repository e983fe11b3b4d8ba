import type { Caller } from "../../definition.ts";

export type TokenAnswer =
  | { readonly kind: "known"; readonly caller: Caller; readonly audiences: readonly string[] }
  /** Not a token of this kind, or one that was not issued here. */
  | { readonly kind: "unknown" }
  | { readonly kind: "refused"; readonly problem: string };

export interface TokenAuthenticator {
  /** Only tokens for one of the audiences are valid; the common audiences are returned. */
  authenticate(token: string, audiences: readonly string[]): Promise<TokenAnswer>;
}

/** The first authenticator that knows the token decides. */
export function firstThatKnows(...all: readonly TokenAuthenticator[]): TokenAuthenticator {
  return {
    async authenticate(token, audiences) {
      const problems: string[] = [];
      for (const one of all) {
        const answer = await one.authenticate(token, audiences);
        if (answer.kind === "known") return answer;
        if (answer.kind === "refused") problems.push(answer.problem);
      }
      return problems.length > 0 ? { kind: "refused", problem: problems.join(", ") } : { kind: "unknown" };
    },
  };
}
