import type { Caller } from "../../definition.ts";

export type TokenAnswer =
  | { readonly kind: "known"; readonly caller: Caller; readonly audiences: readonly string[] }
  /** Not a token of this kind, or one that nobody gave out. */
  | { readonly kind: "unknown" }
  | { readonly kind: "refused"; readonly problem: string };

export interface TokenAuthenticator {
  /** Only tokens for one of the audiences count; what they have in common is told. */
  authenticate(token: string, audiences: readonly string[]): Promise<TokenAnswer>;
}

/** The first that knows the token says whose it is. */
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
