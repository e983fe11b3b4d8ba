import { HttpError } from "../http-error.ts";

export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The requested streams: "input", "output" and "error" here, "stdin", "stdout" and "stderr" in the API. */
export function streamOptions(query: URLSearchParams): StreamOptions {
  const isRequested = (...names: readonly string[]) =>
    names.some((name) => ["1", "true"].includes(query.get(name) ?? ""));
  const tty = isRequested("tty");
  const stdin = isRequested("input", "stdin");
  const stdout = isRequested("output", "stdout");
  // A TTY is one stream, including stderr.
  const stderr = isRequested("error", "stderr") && !tty;
  if (!stdin && !stdout && !stderr)
    throw new HttpError(400, "you must specify at least 1 of stdin, stdout, stderr");
  return { stdin, stdout, stderr, tty };
}

/** The ports of a WebSocket port-forward request. */
export function forwardedPorts(query: URLSearchParams): number[] {
  const ports = query.getAll("port").flatMap((value) => value.split(","));
  if (ports.length === 0) throw new HttpError(400, 'query parameter "port" is required');
  return ports.map((text) => {
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65535)
      throw new HttpError(400, `unable to parse ${JSON.stringify(text)} as a port`);
    return port;
  });
}
