/** The decoded segments after /console, and the query; undefined if no path of the console looks like this. */
export interface RequestPath {
  readonly segments: readonly string[];
  readonly hasTrailingSlash: boolean;
  readonly query: URLSearchParams;
}

const plain = /^\/console(?:\/[\w.~%:@!$&'()*+,;=-]+)*\/?$/;

/**
 * Each segment is decoded once, and is a name: no dots only, no slash, backslash or control character in any encoding. Anything else is an
 * attempt to reach another path.
 */
export function requestPath(url: string | undefined): RequestPath | undefined {
  const [path = "", search = ""] = splitQuery(url ?? "");
  if (!plain.test(path)) return undefined;
  const segments: string[] = [];
  for (const part of path.split("/").slice(2)) {
    if (part === "") continue;
    const segment = decoded(part);
    if (segment === undefined || !isName(segment)) return undefined;
    segments.push(segment);
  }
  const hasTrailingSlash = path.endsWith("/");
  return { segments, hasTrailingSlash, query: new URLSearchParams(search) };
}

function splitQuery(url: string): [string, string] {
  const mark = url.indexOf("?");
  return mark < 0 ? [url, ""] : [url.slice(0, mark), url.slice(mark + 1)];
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function isName(segment: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are intended
  return !/^\.*$|[\u0000-\u001f\u007f/\\]/.test(segment);
}
