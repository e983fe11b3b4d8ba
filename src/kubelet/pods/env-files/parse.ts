import { KubeletError } from "../../../lib/base/errors.ts";

/** A file that a container wrote is not trusted. */
const maxLineLength = 65_536;

/**
 * The values in a file of `NAME='value'` lines, by key; undefined if the key is missing. This is a strict subset of shell
 * syntax: values are single-quoted and literal, and may have several lines. Blank lines and comments are skipped. The value
 * of `NAME= ` is empty. The first line of a key is used, and an error in the lines after it does not matter to that key.
 */
export function envFileValues(text: string): (key: string) => string | undefined {
  const values = new Map<string, string>();
  let problem: unknown;
  try {
    for (const [name, value] of entriesOf(splitLines(text))) if (!values.has(name)) values.set(name, value);
  } catch (error) {
    problem = error;
  }
  return (key) => {
    const value = values.get(key);
    if (value === undefined && problem !== undefined) throw problem;
    return value;
  };
}

function* entriesOf(lines: readonly string[]): Generator<[name: string, value: string]> {
  for (let at = 0; at < lines.length; at++) {
    const line = trimStart(lineAt(lines, at));
    if (line === "" || line.startsWith("#")) continue;
    const fail = (what: string) =>
      new KubeletError("EnvFile", `invalid environment variable format at line ${at + 1}: ${what}`);
    const equals = line.indexOf("=");
    if (equals < 0) throw fail("missing '='");
    const name = line.slice(0, equals);
    if (name.trim() === "") throw fail("empty variable name");
    if (/[ \t]$/.test(name)) throw fail("whitespace before '=' is not allowed");
    const rest = line.slice(equals + 1);
    if (/^[ \t]/.test(rest)) {
      yield [name, ""];
      continue;
    }
    if (!rest.startsWith("'")) throw fail("value must be enclosed in single quotes");

    const startLine = at;
    const linesBefore: string[] = [];
    let last = rest.slice(1);
    let close = last.indexOf("'");
    while (close < 0) {
      linesBefore.push(last);
      at++;
      if (at >= lines.length)
        throw new KubeletError(
          "EnvFile",
          `invalid environment variable format starting at line ${startLine + 1}: unclosed single quote`,
        );
      last = lineAt(lines, at);
      close = last.indexOf("'");
    }
    const value = [...linesBefore, last.slice(0, close)].join("\n");
    const after = trimStart(last.slice(close + 1));
    if (after !== "" && !after.startsWith("#")) throw fail("unexpected content after closing quote");
    yield [name, value];
  }
}

function splitLines(text: string): string[] {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  // A newline at the end starts no further line.
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function lineAt(lines: readonly string[], at: number): string {
  const line = lines[at] ?? "";
  if (line.length >= maxLineLength) throw new KubeletError("EnvFile", `line ${at + 1} is too long`);
  return line;
}

function trimStart(text: string): string {
  return text.replace(/^[ \t]+/, "");
}
