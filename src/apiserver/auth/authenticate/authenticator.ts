import type { IncomingMessage } from "node:http";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Authenticator, Authorizer } from "../../access.ts";
import type { Caller } from "../../definition.ts";
import { anonymous, authenticated, isPublicPath } from "../names.ts";
import type { TokenAuthenticator } from "../tokens/bearer.ts";
import type { ClientCertificates } from "./client-certificates.ts";
import { impersonated } from "./impersonation.ts";

/**
 * By certificate, otherwise by token. A client without credentials may request public paths; one with invalid credentials,
 * nothing.
 */
export class RequestAuthenticator implements Authenticator {
  readonly #o: {
    certificates: ClientCertificates;
    tokens: TokenAuthenticator;
    authorizer: Authorizer;
    audiences: readonly string[];
    logger: Logger;
  };

  constructor(o: {
    certificates: ClientCertificates;
    tokens: TokenAuthenticator;
    authorizer: Authorizer;
    audiences: readonly string[];
    logger: Logger;
  }) {
    this.#o = o;
  }

  async authenticate(request: IncomingMessage): Promise<Caller | undefined> {
    const caller = await this.#itself(request);
    return caller && (await impersonated(caller, request, this.#o.authorizer));
  }

  async #itself(request: IncomingMessage): Promise<Caller | undefined> {
    const { certificates, tokens, audiences, logger } = this.#o;
    const certificate = certificates.authenticate(request);
    if (certificate.kind === "authenticated") return withAuthenticated(certificate.caller);
    const token = bearerToken(request.headers.authorization);
    const result = token === undefined ? undefined : await tokens.authenticate(token, audiences);
    if (result?.kind === "authenticated") return withAuthenticated(result.caller);
    const problems = [
      ...(certificate.kind === "rejected" ? [certificate.problem] : []),
      ...(result ? [tokenProblem(result)] : []),
    ];
    if (problems.length > 0) {
      logger.warn("Request not authenticated", { problem: problems.join(", ") });
      return undefined;
    }
    return isPublicPath(pathOf(request.url)) ? anonymous : undefined;
  }
}

/** Why a token is not valid, as reported by reviews. */
export function tokenProblem(result: { kind: "unknown" } | { kind: "rejected"; problem: string }): string {
  return result.kind === "unknown" ? "invalid bearer token" : `[invalid bearer token, ${result.problem}]`;
}

export function withAuthenticated(caller: Caller): Caller {
  if (caller.groups.includes(authenticated)) return caller;
  return { ...caller, groups: [...caller.groups, authenticated] };
}

/** Undefined: no token at all. */
function bearerToken(header: string | undefined): string | undefined {
  const [scheme, token] = (header ?? "").trim().split(" ");
  return scheme?.toLowerCase() === "bearer" && token ? token : undefined;
}

function pathOf(url: string | undefined): string {
  return (url ?? "/").split("?", 1)[0] ?? "/";
}
