const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** The end of the bytes, as text of at most `limit` bytes. Whole characters only; invalid UTF-8 is replaced. */
export function lastUtf8(bytes: Buffer, limit: number): string {
  const text = bytes.subarray(Math.max(0, bytes.length - limit));
  const decoded = wholeFromStart(text, text.length < bytes.length).toString("utf8");
  // A replacement character is longer than the byte it replaces.
  const again = Buffer.from(decoded);
  return again.length <= limit ? decoded : lastUtf8(again, limit);
}

/** Drops the rest of a truncated character; a character has at most 4 bytes. */
function wholeFromStart(bytes: Buffer, isTruncated: boolean): Buffer {
  let start = 0;
  while (isTruncated && start < 3 && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}
