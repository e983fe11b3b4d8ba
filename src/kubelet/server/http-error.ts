import { KubeletError } from "../../lib/base/errors.ts";

/** Thrown by a handler to respond with this status and text. */
export class HttpError extends KubeletError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    options: { cause?: unknown; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super("HttpError", message, { cause: options.cause });
    this.name = "HttpError";
    this.status = status;
    this.headers = options.headers ?? {};
  }
}
