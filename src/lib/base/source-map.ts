/** The parts of a source map (version 3) that lookups need. */
export interface SourceMapFile {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/** A position in a generated file, counted from 0. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A position in a source, its line and column counted from 0. */
export interface SourcePosition extends Position {
  readonly source: string;
}

/**
 * The sources of these positions, in their order. One pass over the mappings that keeps nothing else: the SourceMap of Node.js turns
 * each of several hundred thousand mappings into an object, and an agent that logs a stack would grow by 100 MB.
 */
export function sourcePositions(
  { sources, mappings }: SourceMapFile,
  positions: readonly Position[],
): (SourcePosition | undefined)[] {
  const found: (SourcePosition | undefined)[] = positions.map(() => undefined);
  const last = Math.max(-1, ...positions.map(({ line }) => line));
  let [source, sourceLine, sourceColumn] = [0, 0, 0];
  let at = 0;
  for (let line = 0; line <= last && at < mappings.length; line++, at++) {
    const lookups = positions.flatMap((position, index) =>
      position.line === line ? [{ column: position.column, index }] : [],
    );
    let column = 0;
    while (at < mappings.length && mappings.charCodeAt(at) !== semicolon) {
      if (mappings.charCodeAt(at) === comma) at++;
      column += number();
      const hasSource = isDigit(mappings.charCodeAt(at));
      if (hasSource) {
        source += number();
        sourceLine += number();
        sourceColumn += number();
        if (isDigit(mappings.charCodeAt(at))) number(); // the name
      }
      // Mappings are ordered by column: the last one that is not after the position covers it.
      for (const { column: wantedColumn, index } of lookups)
        if (column <= wantedColumn)
          found[index] = hasSource
            ? { source: sources[source] ?? "", line: sourceLine, column: sourceColumn }
            : undefined;
    }
  }
  return found;

  /** The next base64 VLQ: five bits a digit, the lowest first, the sign in the lowest bit of all. */
  function number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 5) {
      const digit = digits[mappings.charCodeAt(at++)] ?? 0;
      value |= (digit & 31) << shift;
      if (digit < 32) break;
    }
    return value & 1 ? -(value >>> 1) : value >>> 1;
  }
}

const comma = ",".charCodeAt(0);
const semicolon = ";".charCodeAt(0);
const isDigit = (code: number) => code !== comma && code !== semicolon && !Number.isNaN(code);
const digits: number[] = [];
for (const [value, digit] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries())
  digits[digit.charCodeAt(0)] = value;
