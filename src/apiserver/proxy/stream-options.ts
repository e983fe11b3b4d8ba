import { badRequest } from "../rest/problems.ts";
import { encodeQuery, flag, parseInteger } from "./query-values.ts";

const streams = [
  ["stdin", "input"],
  ["stdout", "output"],
  ["stderr", "error"],
  ["tty", "tty"],
] as const;

/** Maps the API's parameter names to the kubelet's: stdin to input, and so on. */
export function execQuery(query: URLSearchParams): string {
  const forwarded = streamsOf(query);
  for (const argument of query.getAll("command")) forwarded.append("command", argument);
  return encodeQuery(forwarded);
}

export function attachQuery(query: URLSearchParams): string {
  return encodeQuery(streamsOf(query));
}

function streamsOf(query: URLSearchParams): URLSearchParams {
  const forwarded = new URLSearchParams();
  for (const [name, kubeletName] of streams) if (flag(query, name)) forwarded.append(kubeletName, "1");
  return forwarded;
}

export function portForwardQuery(query: URLSearchParams): string {
  const ports = query.getAll("ports").map((port) => {
    const number = parseInteger(port);
    if (number > 0x7fffffffn || number < -0x80000000n)
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(port)}: value out of range`);
    return String(number);
  });
  return encodeQuery(new URLSearchParams(ports.length > 0 ? { port: ports.join(",") } : {}));
}
