import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { HttpError } from "../http-error.ts";
import type { RouteAttributes } from "../route.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Authorizer } from "./authorizer.ts";
import { anonymous, type Identity } from "./identity.ts";

export interface AccessFilter {
  /** The caller, if authorized. Throws an HttpError otherwise. */
  authorize(request: IncomingMessage, attributes: RouteAttributes): Promise<Identity>;
  /** The client of a request with a valid certificate or token; undefined for any other, even where anonymous requests are allowed. */
  authenticate?(request: IncomingMessage): Promise<Identity | undefined>;
  /** Whether an authenticated client has the permission. Rejects if that cannot be determined. */
  allows?(identity: Identity, attributes: RouteAttributes): Promise<boolean>;
  /** False if the client certificate of the connection is not accepted, so that only a new handshake can help. */
  trusts?(socket: TLSSocket): boolean;
}

/** Authentication (401), then authorization (403). */
export function accessFilter(o: {
  authenticator: Authenticator;
  authorizer: Authorizer;
  logger: Logger;
}): AccessFilter {
  return {
    async authenticate(request) {
      const identity = await o.authenticator.authenticate(request);
      return identity === anonymous ? undefined : identity;
    },
    async allows(identity, { verb, subresources }) {
      for (const subresource of subresources)
        if (await o.authorizer.allows(identity, { verb, subresource })) return true;
      return false;
    },
    async authorize(request, { verb, subresources }) {
      const identity = await o.authenticator.authenticate(request);
      if (!identity) throw new HttpError(401, "Unauthorized");
      const user = inOneLine(identity.name);
      for (const subresource of subresources) {
        try {
          if (await o.authorizer.allows(identity, { verb, subresource })) return identity;
        } catch (error) {
          const named = `user=${user}, verb=${verb}, resource=nodes, subresource=${subresource}`;
          o.logger.warn("Authorization error", { user, verb, subresource, err: messageOf(error) });
          throw new HttpError(500, `Authorization error (${named})`, { cause: error });
        }
      }
      const subject = `subresource(s)=[${subresources.join(" ")}]`;
      o.logger.debug(2, "Forbidden", { user, verb, subresources });
      throw new HttpError(403, `Forbidden (user=${user}, verb=${verb}, resource=nodes, ${subject})\n`);
    },
  };
}

/** For the read-only port: all clients are allowed. */
export const allowAll: AccessFilter = {
  authorize: async () => ({ name: "system:anonymous", groups: ["system:unauthenticated"] }),
};

function inOneLine(name: string): string {
  return name.replace(/[\r\n]/g, " ");
}
