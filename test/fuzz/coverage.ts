import { readFileSync } from "node:fs";
import { Session } from "node:inspector";
import { fileURLToPath } from "node:url";

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface FunctionCoverage {
  readonly ranges: readonly Range[];
}

interface Script {
  readonly url: string;
  readonly functions: readonly FunctionCoverage[];
}

/** The parts of a source file that ran. */
interface Span {
  readonly url: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The characters of the sources that ran, counted by V8 itself (block coverage): no instrumented build, and nearly no cost per call. Only
 * the sources of the kubelet and the YAML library count.
 */
export class Coverage {
  readonly #session = new Session();
  readonly #covered = new Map<string, Uint8Array>();

  start(): void {
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  stop(): void {
    this.#session.disconnect();
  }

  /** The spans that ran since the last call and that no input of the corpus reached. */
  takeNew(): Span[] {
    return this.take().filter(({ url, start, end }) => {
      const covered = this.#covered.get(url);
      if (covered === undefined) return true;
      const missing = covered.indexOf(0, start);
      return missing !== -1 && missing < end;
    });
  }

  /** All spans that ran since the last call. */
  take(): Span[] {
    let scripts: readonly Script[] = [];
    this.#session.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error) throw error;
      scripts = result as Script[];
    });
    return scripts
      .filter(({ url }) => isCounted(url))
      .flatMap(({ url, functions }) =>
        functions.flatMap(({ ranges }) => executed(ranges).map((span) => ({ url, ...span }))),
      );
  }

  /** Forgets what was reached. */
  reset(): void {
    this.#covered.clear();
  }

  add(spans: readonly Span[]): void {
    for (const { url, start, end } of spans) this.#charactersOf(url).fill(1, start, end);
  }

  /** Characters that ran. */
  get size(): number {
    let size = 0;
    for (const covered of this.#covered.values()) for (const one of covered) size += one;
    return size;
  }

  get files(): string[] {
    return [...this.#covered.keys()].map((url) => fileURLToPath(url));
  }

  #charactersOf(url: string): Uint8Array {
    const known = this.#covered.get(url);
    if (known !== undefined) return known;
    const characters = new Uint8Array(readFileSync(fileURLToPath(url), "utf8").length + 1);
    this.#covered.set(url, characters);
    return characters;
  }
}

/** The rules of the targets count, too: the fuzzer looks for inputs that reach their exceptions. */
function isCounted(url: string): boolean {
  return (
    /^file:.*\/(src\/|node_modules\/yaml\/|test\/fuzz\/(targets\/|maze-target))/.test(url) &&
    !url.includes("/lib/gen/")
  );
}

/** The ranges of one function are sorted, and inner ones override outer ones. */
function executed(ranges: readonly Range[]): { start: number; end: number }[] {
  const spans: { start: number; end: number }[] = [];
  const open: Range[] = [];
  let at = ranges[0]?.startOffset ?? 0;
  const closeUntil = (offset: number) => {
    for (let top = open.at(-1); top !== undefined && top.endOffset <= offset; top = open.at(-1)) {
      emit(top, top.endOffset);
      open.pop();
    }
  };
  const emit = (range: Range, end: number) => {
    if (range.count > 0 && end > at) spans.push({ start: at, end });
    at = Math.max(at, end);
  };
  for (const range of ranges) {
    closeUntil(range.startOffset);
    const outer = open.at(-1);
    if (outer !== undefined) emit(outer, range.startOffset);
    open.push(range);
  }
  closeUntil(Number.MAX_SAFE_INTEGER);
  return spans;
}
