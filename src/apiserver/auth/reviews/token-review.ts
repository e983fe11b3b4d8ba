import type { Caller, ResourceDefinition } from "../../definition.ts";
import { tokenProblem, withAuthenticated } from "../authenticate/authenticator.ts";
import { badRequest } from "../problems.ts";
import type { TokenAuthenticator } from "../tokens/bearer.ts";
import { review } from "./review.ts";

/** TokenReview: the user of a token. */
export function tokenReview(o: {
  tokens: TokenAuthenticator;
  audiences: readonly string[];
}): ResourceDefinition {
  return review({
    group: "authentication.k8s.io",
    kind: "TokenReview",
    async evaluate(draft) {
      const { token, audiences } = (draft.spec ?? {}) as { token?: string; audiences?: string[] };
      if (!token) throw badRequest("token is required for TokenReview in authentication");
      const result = await o.tokens.authenticate(token, audiences?.length ? audiences : o.audiences);
      if (result.kind !== "authenticated") return { status: { user: {}, error: tokenProblem(result) } };
      const user = userInfo(withAuthenticated(result.caller));
      return { status: { authenticated: true, user, audiences: result.audiences } };
    },
  });
}

function userInfo({ name, uid, groups, extra }: Caller): object {
  return {
    username: name,
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra && Object.keys(extra).length > 0 && { extra }),
  };
}

/** SelfSubjectReview: the caller itself. */
export function selfSubjectReview(): ResourceDefinition {
  return review({
    group: "authentication.k8s.io",
    kind: "SelfSubjectReview",
    async evaluate(_, { caller, now }) {
      const creationTimestamp = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
      return { metadata: { creationTimestamp }, status: { userInfo: userInfo(caller) } };
    },
  });
}
