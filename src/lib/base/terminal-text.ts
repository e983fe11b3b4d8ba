/** Control characters beyond those that JSON escapes, and characters that reorder text or have no width: terminals interpret them. */
const interpreted = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;

/** JSON without characters that a terminal interprets. It parses to the same value. */
export function terminalJson(value: unknown, indent?: number): string {
  return escapeInterpreted(JSON.stringify(value, undefined, indent));
}

export function escapeInterpreted(json: string): string {
  return json.replace(interpreted, (char) =>
    [...Array(char.length).keys()]
      .map((i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Replaces control characters: messages of registries, runtimes and containers must not control the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}

/** The same for a text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
