export interface ProxiedAt {
  /** The path prefix of the backend in the API: /api/v1/nodes/n/proxy. */
  readonly prefix: string;
  /** Host and port of the backend, and those that the client used. */
  readonly backendHost: string;
  readonly requestHost: string;
}

/** Rewrites a redirect of a backend, so that the client follows it through the API. */
export function rewrittenLocation(location: string, { prefix, backendHost, requestHost }: ProxiedAt): string {
  const base = `http://${backendHost}`;
  const url = URL.canParse(location, base) ? new URL(location, base) : undefined;
  const hasHost = /^([a-z][a-z0-9+.-]*:)?\/\//i.test(location);
  if (url === undefined || !(hasHost || location.startsWith("/"))) return location;
  const isForeign = hasHost && url.host !== hostOf(base) && url.host !== hostOf(`http://${requestHost}`);
  if (isForeign) return location;
  const path = location.replace(/^([a-z][a-z0-9+.-]*:)?\/\/[^/?#]*/i, "") || "/";
  return path.startsWith(prefix) ? path : `${prefix}${path.startsWith("/") ? "" : "/"}${path}`;
}

function hostOf(base: string): string {
  return URL.canParse(base) ? new URL(base).host : "";
}
