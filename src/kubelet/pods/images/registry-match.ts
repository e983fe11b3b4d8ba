/**
 * True if credentials for `pattern` (a host, perhaps with a port and the begin of a path) are meant for `target`. Each
 * part of the host may have wildcards, which do not reach over a dot; port and path have none.
 */
export function registryMatches(pattern: string, target: string): boolean {
  const [want, have] = [locationOf(pattern), locationOf(target)];
  return (
    want.port === have.port &&
    want.parts.length === have.parts.length &&
    have.path.startsWith(want.path) &&
    want.parts.every((part, i) => globMatches(part, have.parts[i]!))
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
  const place = slash < 0 ? text : text.slice(0, slash);
  const path = slash < 0 ? "" : text.slice(slash);
  const [, host = place, port = ""] = /^(\[[^\]]*\]|[^:]*):([^:]*)$/.exec(place) ?? [];
  // The brackets of an IPv6 address are no set of characters.
  const bare = /^\[(.*:.*)\]$/.exec(host)?.[1] ?? host;
  return { parts: bare.split("."), port, path };
}

function globMatches(pattern: string, text: string): boolean {
  const source = regexOf(pattern);
  return source !== undefined && new RegExp(`^${source}$`, "s").test(text);
}

/** Undefined if the pattern is broken: such a one matches nothing. */
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
