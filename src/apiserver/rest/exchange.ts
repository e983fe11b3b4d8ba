import type { Clock } from "../../lib/base/clock.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { Authorizer } from "../access.ts";
import type { Caller } from "../definition.ts";
import type { Answer } from "./answer.ts";
import type { FieldChecks } from "./field-checks.ts";
import type { ResourceTarget } from "./request-path.ts";
import type { TableMaker } from "./views.ts";
import type { WriteDependencies } from "./write-context.ts";

/** What the handlers of requests share. */
export interface RestParts {
  readonly dependencies: WriteDependencies;
  readonly authorizer: Authorizer;
  readonly fields: FieldChecks | undefined;
  readonly tables: TableMaker | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxBodyBytes: number;
}

/** One request for a resource, from a caller who may make it. */
export interface Exchange {
  readonly parts: RestParts;
  readonly target: ResourceTarget;
  readonly verb: string;
  readonly query: URLSearchParams;
  readonly caller: Caller;
  readonly answer: Answer;
  /** The client is gone, the server goes, or it took too long. */
  readonly signal: AbortSignal;
}
