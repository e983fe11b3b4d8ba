interface Piece {
  readonly layout: string;
  readonly text: RegExp;
  /** A number out of this range has an error of its own. */
  readonly range?: { readonly name: string; readonly least: number; readonly most: number };
}

function digits(layout: string, count: number, name: string, least: number, most: number): Piece {
  return { layout, text: new RegExp(`^\\d{${count}}`), range: { name, least, most } };
}

function literal(layout: string): Piece {
  return { layout, text: new RegExp(`^${layout}`) };
}

const date = [
  digits("2006", 4, "year", 0, 9999),
  literal("-"),
  digits("01", 2, "month", 1, 12),
  literal("-"),
  digits("02", 2, "day", 1, 31),
];
const clock = [
  digits("15", 2, "hour", 0, 23),
  literal(":"),
  digits("04", 2, "minute", 0, 59),
  literal(":"),
  digits("05", 2, "second", 0, 59),
];
const zone: Piece = { layout: "Z07:00", text: /^(?:Z|[+-]\d\d:\d\d)/ };
/** A second may have a fraction, even if the layout has none. */
const anyFraction: Piece = { layout: "", text: /^(?:[.,]\d+)?/ };
const micros: Piece = { layout: ".000000", text: /^\.\d{6}/ };

const pieces = {
  time: [...date, literal("T"), ...clock, anyFraction, zone],
  microtime: [...date, literal("T"), ...clock, micros, zone],
};

/** The error from parsing a time (RFC 3339; with exactly six decimals for a microtime); undefined if it is valid. */
export function timeError(text: string, kind: "time" | "microtime"): string | undefined {
  let rest = text;
  const numbers: number[] = [];
  for (const { layout, text: form, range } of pieces[kind]) {
    const found = form.exec(rest)?.[0];
    if (found === undefined)
      return `${parsing(text, kind)}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(layout)}`;
    rest = rest.slice(found.length);
    if (!range) continue;
    const number = Number(found);
    if (number < range.least || number > range.most) return outOfRange(text, range.name);
    numbers.push(number);
  }
  if (rest !== "") return `parsing time ${JSON.stringify(text)}: extra text: ${JSON.stringify(rest)}`;
  const [year = 0, month = 0, day = 0] = numbers;
  return day > new Date(Date.UTC(year, month, 0)).getUTCDate() ? outOfRange(text, "day") : undefined;
}

function parsing(text: string, kind: "time" | "microtime"): string {
  const layout = pieces[kind].map((piece) => piece.layout).join("");
  return `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}`;
}

function outOfRange(text: string, name: string): string {
  return `parsing time ${JSON.stringify(text)}: ${name} out of range`;
}

/** The canonical form of a time: in UTC, with second precision (microseconds for a microtime). */
export function canonicalTime(text: string, kind: "time" | "microtime"): string {
  const millis = Date.parse(text);
  if (Number.isNaN(millis)) return text;
  const seconds = new Date(millis).toISOString().slice(0, 19);
  return kind === "time" ? `${seconds}Z` : `${seconds}${/\.\d{6}/.exec(text)?.[0] ?? ".000000"}Z`;
}
