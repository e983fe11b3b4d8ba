import type { Clock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Authorizer, CallerLimits } from "../access.ts";
import type { Caller } from "../definition.ts";
import type { FieldChecks } from "./field-checks.ts";
import type { ResourceTarget } from "./request-path.ts";
import type { ResponseWriter } from "./response-writer.ts";
import type { TableMaker } from "./views.ts";
import type { WriteDependencies } from "./write-context.ts";

/** Dependencies of the request handlers. */
export interface RestParts {
  readonly dependencies: WriteDependencies;
  readonly authorizer: Authorizer;
  readonly fields: FieldChecks | undefined;
  readonly tables: TableMaker | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxBodyBytes: number;
  readonly limitsOf: (caller: Caller) => CallerLimits | undefined;
}

/** One authorized request for a resource. */
export interface Exchange {
  readonly parts: RestParts;
  readonly target: ResourceTarget;
  readonly verb: string;
  readonly query: URLSearchParams;
  readonly caller: Caller;
  readonly writer: ResponseWriter;
  /** Aborted when the client disconnects, the server stops or the request times out. */
  readonly signal: AbortSignal;
}
