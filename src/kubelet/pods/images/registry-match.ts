/**
 * True if credentials for `pattern` (a host, perhaps with a port and a path prefix) apply to `target`. Each label of the
 * host may have wildcards, which do not match a dot; port and path have none.
 */
export function registryMatches(pattern: string, target: string): boolean {
  const [expected, actual] = [locationOf(pattern), locationOf(target)];
  return (
    expected.port === actual.port &&
    expected.parts.length === actual.parts.length &&
    actual.path.startsWith(expected.path) &&
    expected.parts.every((part, i) => globMatches(part, actual.parts[i]!))
  );
}

/** Host and path without scheme, user and query: "https://x.io/v1/team" is "x.io/team". */
export function registryKey(location: string): string {
  const [, host = "", path = ""] = /^(?:https?:\/\/)?(?:[^/?#@]*@)?([^/?#]*)([^?#]*)/.exec(location) ?? [];
  const inner = path.replace(/^\/v[12]\//, "/");
  return inner === "/" ? host : host + inner;
}

function locationOf(text: string) {
  const slash = text.indexOf("/");
  const authority = slash < 0 ? text : text.slice(0, slash);
  const path = slash < 0 ? "" : text.slice(slash);
  const [, host = authority, port = ""] = /^(\[[^\]]*\]|[^:]*):([^:]*)$/.exec(authority) ?? [];
  // The brackets of an IPv6 address are not a character class.
  const bare = /^\[(.*:.*)\]$/.exec(host)?.[1] ?? host;
  return { parts: bare.split("."), port, path };
}

function globMatches(pattern: string, text: string): boolean {
  const source = regexOf(pattern);
  return source !== undefined && new RegExp(`^${source}$`, "s").test(text);
}

/** Undefined if the pattern is malformed and matches nothing. */
function regexOf(pattern: string): string | undefined {
  const token = /\*|\?|\[(\^?)((?:\\.|[^\\\]])+)\]|\\(.)|([^*?[\\])/gsy;
  let source = "";
  while (token.lastIndex < pattern.length) {
    const match = token.exec(pattern);
    if (!match) return undefined;
    const [all, negated, set, escaped, plain] = match;
    if (all === "*") source += "[^/]*";
    else if (all === "?") source += "[^/]";
    else if (set !== undefined) source += `[${negated}${set.replace(/[[&~]/g, "\\$&")}]`;
    else source += (escaped ?? plain)!.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
  }
  return source;
}
