/** The request target for the path of an httpGet, which may be any text. */
export function requestTarget(written: string): string {
  const badEscape = /%(?![0-9a-f]{2})/i;
  const pathOnly = written.split(/[?#]/, 1)[0] ?? "";
  // Not a URL: the whole text is a path.
  if (badEscape.test(pathOnly))
    return withSlash(
      percentEncoded(written.replace(/[%?#]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)),
    );
  // Scheme and host come from other fields; those in the path are ignored.
  const local = written.replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\/[^/?#]*/i, "").split("#", 1)[0]!;
  const query = local.indexOf("?");
  if (query < 0) return withSlash(percentEncoded(local));
  return withSlash(percentEncoded(local.slice(0, query))) + percentEncoded(local.slice(query));
}

function withSlash(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}

function percentEncoded(text: string): string {
  return text.replace(/[^!$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~]/gu, (c) => encodeURIComponent(c.toWellFormed()));
}
