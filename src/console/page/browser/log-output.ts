import { type LogLine, splitMatches } from "../state/log-lines.ts";

export interface LogView {
  readonly search: string;
  readonly timestamps: boolean;
  /** Only lines that match the search. */
  readonly onlyMatches: boolean;
}

/**
 * Writes log lines into an element. It adds and removes only what changed: a log may have thousands of lines, and a virtual
 * document would compare them all for each new one.
 */
export class LogOutput {
  readonly #element: HTMLElement;
  #shown: { readonly id: number; readonly row: HTMLElement }[] = [];
  #lastID = -1;
  #view: LogView = { search: "", timestamps: false, onlyMatches: false };

  constructor(element: HTMLElement) {
    this.#element = element;
  }

  show(lines: readonly LogLine[], view: LogView): void {
    const atEnd = this.#isAtEnd();
    const restarted = lines.length > 0 && lines.at(-1)!.id < this.#lastID;
    if (restarted || lines.length === 0 || !sameView(view, this.#view)) this.#clear();
    this.#view = view;
    const first = lines[0]?.id ?? 0;
    let dropped = 0;
    while (dropped < this.#shown.length && this.#shown[dropped]!.id < first)
      this.#shown[dropped++]!.row.remove();
    this.#shown.splice(0, dropped);
    const added = document.createDocumentFragment();
    for (const line of lines) {
      if (line.id <= this.#lastID) continue;
      const row = this.#row(line);
      if (!row) continue;
      added.append(row);
      this.#shown.push({ id: line.id, row });
    }
    this.#lastID = lines.at(-1)?.id ?? -1;
    this.#element.append(added);
    if (atEnd) this.#element.scrollTop = this.#element.scrollHeight;
  }

  get rows(): number {
    return this.#shown.length;
  }

  #row(line: LogLine): HTMLElement | undefined {
    const parts = splitMatches(line.text, this.#view.search);
    if (this.#view.onlyMatches && this.#view.search && parts.length === 1) return undefined;
    const row = document.createElement("div");
    if (this.#view.timestamps && line.time) {
      const time = document.createElement("time");
      time.textContent = line.time.replace(/(\.\d{3})\d*/, "$1");
      row.append(time);
    }
    for (const [index, part] of parts.entries()) {
      if (index % 2 === 0) row.append(part);
      else {
        const mark = document.createElement("mark");
        mark.textContent = part;
        row.append(mark);
      }
    }
    // An empty line has a height, too.
    if (!row.textContent) row.append("\u00a0");
    return row;
  }

  #clear(): void {
    this.#element.replaceChildren();
    this.#shown = [];
    this.#lastID = -1;
  }

  #isAtEnd(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.#element;
    return scrollHeight - scrollTop - clientHeight < 30;
  }
}

const sameView = (a: LogView, b: LogView): boolean =>
  a.search === b.search && a.timestamps === b.timestamps && a.onlyMatches === b.onlyMatches;
