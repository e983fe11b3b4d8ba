/**
 * A value that refers to two others twice as long grows exponentially with the number of variables. Both limits are above the limits of
 * execve(2), which passes at most 2 MiB in one string (with pages of 64 KiB) and 6 MiB in total: a container that exceeds them could not
 * start.
 */
const maxValueBytes = 2 * 1024 * 1024;
const maxTotalBytes = 8 * 1024 * 1024;

/** The size of all texts that are passed to a process together. */
export class ExpansionBudget {
  #left = maxTotalBytes;

  /** Throws if this text makes the total too large; `name` begins the message. */
  spend(text: string, name: string): void {
    this.#left -= Buffer.byteLength(text) + 1;
    if (this.#left < 0) throw new Error(`${name} exceeds the limit of ${maxTotalBytes} bytes in total`);
  }
}

export interface ExpansionLimit {
  /** Begins the message of the error. */
  readonly name: string;
  readonly maxBytes?: number;
}

/**
 * `$(NAME)` becomes the result of `lookup`, and remains unchanged if `lookup` returns undefined; `$$` becomes `$`, so
 * that `$$(NAME)` is a literal `$(NAME)`. Everything else is unchanged. Throws if the result would be too long; the work is
 * linear in the length of the text and of the result.
 */
export function expandVariables(
  text: string,
  lookup: (name: string) => string | undefined,
  { name: what, maxBytes = maxValueBytes }: ExpansionLimit,
): string {
  const lastClose = text.lastIndexOf(")");
  let left = maxBytes;
  let out = "";
  let done = 0;
  const append = (part: string) => {
    left -= Buffer.byteLength(part);
    if (left < 0) throw new Error(`${what} expands to more than ${maxBytes} bytes`);
    out += part;
  };
  for (let at = text.indexOf("$"); at >= 0; at = text.indexOf("$", Math.max(done, at + 1))) {
    const next = text[at + 1];
    const close = next === "(" && at < lastClose ? text.indexOf(")", at) : -1;
    if (next !== "$" && close < 0) continue;
    const end = next === "$" ? at + 2 : close + 1;
    const value = next === "$" ? "$" : lookup(text.slice(at + 2, close));
    append(text.slice(done, at));
    append(value ?? text.slice(at, end));
    done = end;
  }
  if (done === 0) return text;
  append(text.slice(done));
  return out;
}
