/** Texts longer than this stand once. */
const longestRepeat = 40;

/** Replaces each longer text that stands in the lines before it, or earlier in its own line, with an ellipsis. */
export function withoutRepeats(lines: readonly string[], mayChange: (line: string) => boolean): string[] {
  const known = new Set<string>();
  const size = longestRepeat + 1;
  return lines.map((line) => {
    let shown = "";
    /** Where the part begins that no text before it has. */
    let start = 0;
    for (let at = 0; at + size <= line.length; at++) {
      const part = line.slice(at, at + size);
      if (!known.has(part) || !mayChange(line)) {
        known.add(part);
        continue;
      }
      let end = at + size;
      while (end < line.length && known.has(line.slice(end - longestRepeat, end + 1))) end++;
      shown += `${line.slice(start, at)}…`;
      start = end;
      at = end - 1;
    }
    return shown + line.slice(start);
  });
}
