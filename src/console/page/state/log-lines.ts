export interface LogLine {
  /** Counts up, for keys. */
  readonly id: number;
  /** "" without timestamps. */
  readonly time: string;
  readonly text: string;
}

const maxLines = 5_000;
const maxLineLength = 10_000;
const timestamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*) (.*)$/s;
// Colors and cursor movements of programs that assume a terminal, and other control characters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const control = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b-\x1f\x7f]/g;

/** The last lines of a log that arrives in chunks. Only whole lines are shown, and each line is an object that never changes. */
export class LogLines {
  #lines: LogLine[] = [];
  #rest = "";
  #next = 0;
  /** Lines that were dropped because there are too many. */
  dropped = 0;

  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  append(chunk: string): void {
    const parts = (this.#rest + chunk).split("\n");
    this.#rest = parts.pop() ?? "";
    if (this.#rest.length > maxLineLength) {
      parts.push(this.#rest);
      this.#rest = "";
    }
    if (parts.length === 0) return;
    const lines = [...this.#lines, ...parts.map((line) => this.#line(line))];
    this.dropped += Math.max(0, lines.length - maxLines);
    this.#lines = lines.slice(-maxLines);
  }

  /** The end of the log: what follows the last line break is a line, too. */
  end(): void {
    if (this.#rest) this.append("\n");
  }

  #line(raw: string): LogLine {
    const [, time = "", text = raw] = timestamp.exec(raw) ?? [];
    return { id: this.#next++, time, text: text.replace(control, "").slice(0, maxLineLength) };
  }
}

/** The parts of a line, those at odd positions match the search. */
export function splitMatches(text: string, search: string): string[] {
  if (!search) return [text];
  const parts: string[] = [];
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}
