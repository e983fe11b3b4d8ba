import { KubeletError } from "../../../lib/base/errors.ts";

/** No line may be longer; a file that a container wrote is not to be trusted. */
const longestLine = 65_536;

/**
 * The value of a key in a file of `NAME='value'` lines; undefined if the key is not there. This is a strict part of what
 * a shell reads: values stand in single quotes, mean what they say, and may have several lines. Blank lines and comments
 * are skipped. After `NAME= ` there is no value. The first line of a key counts, and what follows it is not looked at.
 */
export function valueInEnvFile(text: string, key: string): string | undefined {
  const lines = splitLines(text);
  for (let at = 0; at < lines.length; at++) {
    const line = trimStart(lines[at] ?? "");
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
      if (name === key) return "";
      continue;
    }
    if (!rest.startsWith("'")) throw fail("value must be enclosed in single quotes");

    const begun = at;
    let value = rest.slice(1);
    let close = value.indexOf("'");
    while (close < 0) {
      at++;
      if (at >= lines.length)
        throw new KubeletError(
          "EnvFile",
          `invalid environment variable format starting at line ${begun + 1}: unclosed single quote`,
        );
      const from = value.length + 1;
      value += `\n${lines[at]}`;
      close = value.indexOf("'", from);
    }
    const after = trimStart(value.slice(close + 1));
    if (after !== "" && !after.startsWith("#")) throw fail("unexpected content after closing quote");
    if (name === key) return value.slice(0, close);
  }
  return undefined;
}

function splitLines(text: string): string[] {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  // What ends with a line end has no further, empty line.
  if (lines.at(-1) === "") lines.pop();
  const long = lines.findIndex((line) => line.length >= longestLine);
  if (long >= 0) throw new KubeletError("EnvFile", `line ${long + 1} is too long`);
  return lines;
}

function trimStart(text: string): string {
  return text.replace(/^[ \t]+/, "");
}
