export type RequestTarget =
  | { readonly kind: "path"; readonly path: string; readonly query: URLSearchParams }
  /** The normalized path. */
  | { readonly kind: "redirect"; readonly to: string }
  | { readonly kind: "bad" };

/**
 * The target of a request line: the path decoded once, without empty, "." and ".." segments and without control
 * characters. Handlers need not consider path traversal again.
 */
export function requestTarget(url: string | undefined): RequestTarget {
  const target = /^https?:\/\/[^/?#]*/i.exec(url ?? "");
  const local = (url ?? "").slice(target?.[0].length ?? 0) || (target ? "/" : "");
  if (!local.startsWith("/")) return { kind: "bad" };
  const mark = local.indexOf("?");
  const raw = mark < 0 ? local : local.slice(0, mark);
  const search = mark < 0 ? "" : local.slice(mark);
  const plain = withoutDots(raw);
  if (plain !== raw) return { kind: "redirect", to: printable(plain + search) };
  const path = decoded(raw);
  return path === undefined || path !== withoutDots(path) || hasControls(path)
    ? { kind: "bad" }
    : { kind: "path", path, query: new URLSearchParams(search) };
}

/** Normalization keeps a trailing slash. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  const segments = path.split("/");
  for (const segment of segments) {
    if (segment === "..") kept.pop();
    else if (segment !== "" && segment !== ".") kept.push(segment);
  }
  const slash = kept.length > 0 && ["", ".", ".."].includes(segments.at(-1) ?? "");
  return `/${kept.join("/")}${slash ? "/" : ""}`;
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

function hasControls(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are intended
  return /[\u0000-\u001f\u007f]/.test(path);
}

/** Valid in a header: everything but printable ASCII is escaped, and the backslash, which browsers take for a slash. */
function printable(text: string): string {
  return text.replace(/[^\x21-\x5b\x5d-\x7e]/gu, (character) => encodeURIComponent(character));
}
