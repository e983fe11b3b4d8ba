/** A part of a file; both ends are inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The part of a file of that size that a Range header requests. Undefined means the whole file: the header is absent, or
 * requests several ranges, which a server may ignore.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | undefined | "bad" {
  if (header === undefined) return undefined;
  const text = /^bytes=(.*)$/.exec(header)?.[1];
  if (text === undefined) return "bad";
  if (text.includes(",")) return undefined;
  const ends = text.split("-").map((end) => end.trim());
  if (ends.length !== 2 || ends.some((end) => /\D/.test(end))) return "bad";
  const [from = "", to = ""] = ends;
  if (from === "") return to === "" ? "bad" : lastBytes(Number(to), size);
  const start = Number(from);
  if (start >= size || (to !== "" && Number(to) < start)) return "bad";
  return { start, end: to === "" ? size - 1 : Math.min(Number(to), size - 1) };
}

function lastBytes(count: number, size: number): ByteRange | undefined | "bad" {
  if (count === 0) return "bad";
  return size === 0 ? undefined : { start: Math.max(0, size - count), end: size - 1 };
}
