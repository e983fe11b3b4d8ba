/** Keys are stable, so that log queries are: an error is `err`, and `error` does not compile. */
export type Fields = Readonly<Record<string, unknown>> & { readonly error?: never };

/** Structured logs with stable keys (pod, podUID, container, …), one line for each fact. */
export interface Logger {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** Logs only at verbosity `level` (-v) or above. */
  debug(level: number, message: string, fields?: Fields): void;
  /** A logger that adds these fields to each of its lines. */
  with(fields: Fields): Logger;
}

export const silentLogger: Logger = {
  info() {},
  warn() {},
  error() {},
  debug() {},
  with: () => silentLogger,
};
