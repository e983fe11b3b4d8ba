export interface ProxiedBackend {
  /** The path under which the API server proxies to the backend: /api/v1/nodes/n/proxy. */
  readonly prefix: string;
  /** The host and port of the backend, and of the client's request. */
  readonly backendHost: string;
  readonly requestHost: string;
}

/** Rewrites a redirect of a backend, so that the client follows it through the API server. */
export function rewrittenLocation(
  location: string,
  { prefix, backendHost, requestHost }: ProxiedBackend,
): string {
  const base = `http://${backendHost}`;
  const url = URL.canParse(location, base) ? new URL(location, base) : undefined;
  const hasHost = /^([a-z][a-z0-9+.-]*:)?\/\//i.test(location);
  if (url === undefined || !(hasHost || location.startsWith("/"))) return location;
  const isOtherHost = hasHost && url.host !== hostOf(base) && url.host !== hostOf(`http://${requestHost}`);
  if (isOtherHost) return location;
  const path = location.replace(/^([a-z][a-z0-9+.-]*:)?\/\/[^/?#]*/i, "") || "/";
  return path.startsWith(prefix) ? path : `${prefix}${path.startsWith("/") ? "" : "/"}${path}`;
}

function hostOf(base: string): string {
  return URL.canParse(base) ? new URL(base).host : "";
}
