/** Further duplicate fields are not reported. */
const maxDuplicates = 100;

interface Level {
  readonly path: string;
  /** The keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  index: number;
  /** The path of the next value. */
  next: string;
}

const token = /\s*(?:("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|([{}[\],])|[^\s{}[\],":]+)/sy;

/** Paths of duplicate fields in JSON text: "spec.containers[0].name". */
export function duplicateFields(text: string): string[] {
  const found = new Set<string>();
  const levels: Level[] = [];
  token.lastIndex = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [, string, colon, sign] = match;
    const level = levels.at(-1);
    if (string !== undefined && colon !== undefined && level?.keys) {
      const key = keyOf(string);
      level.next = level.path === "" ? key : `${level.path}.${key}`;
      if (level.keys.has(key) && found.size < maxDuplicates) found.add(level.next);
      level.keys.add(key);
    } else if (sign === "{" || sign === "[") {
      const path = level?.next ?? "";
      levels.push({ path, keys: sign === "{" ? new Set() : undefined, index: 0, next: `${path}[0]` });
    } else if (sign === "}" || sign === "]") levels.pop();
    else if (sign === "," && level && !level.keys) level.next = `${level.path}[${++level.index}]`;
  }
  return [...found];
}

function keyOf(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return quoted.slice(1, -1);
  }
}
