import { KubeletError } from "../../lib/base/errors.ts";
import type { ConsoleError, ErrorCode, LoginInfo, ManifestProblem } from "../protocol.ts";

const statuses: Readonly<Record<ErrorCode, number>> = {
  "bad-request": 400,
  unauthenticated: 401,
  forbidden: 403,
  "cross-site": 403,
  "not-found": 404,
  method: 405,
  conflict: 409,
  "too-large": 413,
  "media-type": 415,
  invalid: 422,
  busy: 429,
  internal: 500,
  unavailable: 503,
};

/** Thrown by a handler of the console: the response has this code and message. */
export class ConsoleProblem extends KubeletError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #body: ConsoleError["error"];

  constructor(
    code: ErrorCode,
    message: string,
    more: {
      readonly problems?: readonly ManifestProblem[];
      readonly login?: LoginInfo;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super("ConsoleProblem", message);
    this.status = statuses[code];
    const { headers = {}, ...details } = more;
    this.headers = headers;
    this.#body = { code, message, ...details };
  }

  get body(): ConsoleError {
    return { error: this.#body };
  }
}

export function notFound(): ConsoleProblem {
  return new ConsoleProblem("not-found", "not found");
}
