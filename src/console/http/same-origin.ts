import type { IncomingHttpHeaders } from "node:http";
import { ConsoleProblem } from "./problem.ts";

/** The headers of HTTP/1.1 and HTTP/2 with the origin and the target of a request. */
type Headers = IncomingHttpHeaders & { ":authority"?: string };

/**
 * A page of another site may make a browser resolve its own name to this node (DNS rebinding): then the browser sends that name. Only the
 * node's own names are served.
 */
export function checkHost(headers: Headers, origins: readonly string[]): void {
  if (ownOrigin(headers, origins) === undefined)
    throw new ConsoleProblem("cross-site", "the console is not served under this host name");
}

/** Data is for the console's own page: a request from another page is rejected, even one that only reads. */
export function checkReader(headers: Headers, origins: readonly string[]): void {
  const site = headers["sec-fetch-site"];
  // "none": the user typed the address.
  if (site !== undefined && site !== "same-origin" && site !== "none") throw crossSite();
  // Other origins of the node do not count: another process may listen on the same port at another address.
  if (headers.origin !== undefined && headers.origin.toLowerCase() !== ownOrigin(headers, origins))
    throw crossSite();
}

/** Browsers send the origin with each request that changes something, and with each WebSocket. */
export function checkWriter(headers: Headers, origins: readonly string[]): void {
  checkReader(headers, origins);
  if (headers.origin === undefined || headers["sec-fetch-site"] === "none") throw crossSite();
}

/** The origin that the request is sent to; undefined if it does not belong to the node. */
function ownOrigin(headers: Headers, origins: readonly string[]): string | undefined {
  const host = (headers[":authority"] ?? headers.host ?? "").toLowerCase();
  return origins.find((origin) => origin.slice(origin.indexOf("//") + 2) === host);
}

function crossSite(): ConsoleProblem {
  return new ConsoleProblem("cross-site", "the request does not come from the console's own page");
}
