import type { IncomingMessage } from "node:http";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { AuthenticationResult, ClientCertificates } from "./client-certificates.ts";
import { anonymous, type Identity, withAuthenticated } from "./identity.ts";
import { bearerToken, type TokenReviews } from "./tokens.ts";

/** Undefined: not authenticated. */
export interface Authenticator {
  authenticate(request: IncomingMessage): Promise<Identity | undefined>;
}

/**
 * By certificate, else by token. Only a client without either can be anonymous: one with invalid credentials is
 * rejected.
 */
export class RequestAuthenticator implements Authenticator {
  readonly #o: {
    readonly certificates: ClientCertificates;
    readonly tokens: TokenReviews | undefined;
    readonly anonymous: boolean;
    readonly logger: Logger;
  };

  constructor(o: {
    certificates: ClientCertificates;
    /** Absent: tokens are not accepted. */
    tokens: TokenReviews | undefined;
    anonymous: boolean;
    logger: Logger;
  }) {
    this.#o = o;
  }

  async authenticate(request: IncomingMessage): Promise<Identity | undefined> {
    const certificate = this.#o.certificates.authenticate(request);
    if (certificate.kind === "authenticated") return withAuthenticated(certificate.identity);
    const token = await this.#token(request);
    if (token.kind === "authenticated") return withAuthenticated(token.identity);
    const problems = [certificate, token].flatMap((a) => (a.kind === "rejected" ? [a.problem] : []));
    if (problems.length === 0) return this.#o.anonymous ? anonymous : undefined;
    this.#o.logger.debug(2, "Request not authenticated", { problem: problems.join(", ") });
    return undefined;
  }

  async #token(request: IncomingMessage): Promise<AuthenticationResult> {
    const token = bearerToken(request);
    if (token === undefined || !this.#o.tokens) return { kind: "none" };
    try {
      return await this.#o.tokens.authenticate(token);
    } catch (error) {
      this.#o.logger.warn("Failed to review token of request", { err: messageOf(error) });
      return { kind: "rejected", problem: messageOf(error) };
    }
  }
}
