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
  const bare = /^\[.*\]$/s.test(host) && host.includes(":") ? host.slice(1, -1) : host;
  return { parts: bare.split("."), port, path };
}

/** A longer label matches only a pattern without wildcards; labels of DNS names have at most 63 characters. */
const maxLabelLength = 255;

/**
 * Both texts may be chosen by the author of a pod: a mismatch continues at the last "*" only, because an earlier one
 * cannot match more than the later one does. The work is at most the product of both lengths.
 */
function globMatches(pattern: string, text: string): boolean {
  if (pattern === text && !/[*?[\\]/.test(pattern)) return true;
  if (text.length > maxLabelLength) return false;
  const tokens = tokensOf(pattern);
  if (!tokens) return false;
  const characters = [...text];
  let [token, position] = [0, 0];
  let afterStar: { readonly token: number; position: number } | undefined;
  while (position < characters.length) {
    const expected = tokens[token];
    if (expected === "*") afterStar = { token: ++token, position };
    else if (expected?.(characters[position]!)) {
      token++;
      position++;
    } else if (afterStar) {
      token = afterStar.token;
      position = ++afterStar.position;
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest === "*");
}

type Token = "*" | ((character: string) => boolean);

/** Undefined if the pattern matches nothing: it is malformed, or longer than any label. */
function tokensOf(pattern: string): Token[] | undefined {
  const tokens: Token[] = [];
  const characters = [...pattern];
  for (let i = 0; i < characters.length; i++) {
    if (tokens.length > 2 * maxLabelLength + 1) return undefined;
    const character = characters[i]!;
    if (character === "*") {
      if (tokens.at(-1) !== "*") tokens.push("*");
    } else if (character === "?") tokens.push(() => true);
    else if (character === "[") {
      const set = characterSet(characters, i + 1);
      if (!set) return undefined;
      tokens.push(set.has);
      i = set.end;
    } else {
      const literal = character === "\\" ? characters[++i] : character;
      if (literal === undefined) return undefined;
      tokens.push((other) => other === literal);
    }
  }
  return tokens;
}

/** The set that begins after the bracket, "^0-9a]", and the index of its closing bracket. */
function characterSet(characters: readonly string[], start: number) {
  let i = start;
  const bound = (): number | undefined => {
    if (characters[i] === "-" || characters[i] === "]") return undefined;
    if (characters[i] === "\\") i++;
    return characters[i++]?.codePointAt(0);
  };
  const negated = characters[i] === "^";
  if (negated) i++;
  const ranges: [low: number, high: number][] = [];
  do {
    const low = bound();
    let high = low;
    if (characters[i] === "-") {
      i++;
      high = bound();
    }
    if (low === undefined || high === undefined) return undefined;
    ranges.push([low, high]);
  } while (characters[i] !== "]");
  const has = (character: string) => {
    const code = character.codePointAt(0)!;
    return ranges.some(([low, high]) => low <= code && code <= high) !== negated;
  };
  return { has, end: i };
}
