import type { PodRow } from "../kubelet/explain/pod-overview.ts";
import { printable } from "../lib/base/terminal-text.ts";
import { podTable } from "./pod-table.ts";

export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** Shows the current pods: on a terminal as a table that is redrawn in place, otherwise a line for each pod that changed. */
export class LiveView {
  readonly #screen: Screen;
  readonly #now: () => number;
  #drawn = 0;
  #last = new Map<string, string>();

  constructor(screen: Screen, now: () => number) {
    this.#screen = screen;
    this.#now = now;
  }

  show(rows: readonly PodRow[], notes: readonly string[] = []): void {
    const printableNotes = notes.map(printable);
    if (this.#screen.isTTY) this.#draw(rows, printableNotes);
    else this.#printChanges(rows, printableNotes);
  }

  /** Keeps the last table; further output is written below it. */
  end(): void {
    this.#drawn = 0;
  }

  #draw(rows: readonly PodRow[], notes: readonly string[]): void {
    const width = this.#screen.columns || 80;
    const height = Math.max(3, (this.#screen.rows || 24) - 1);
    let lines = [...podTable(rows, this.#now(), width), ...notes.map((note) => note.slice(0, width))];
    if (lines.length > height) {
      const more = lines.length - height + 1;
      lines = [...lines.slice(0, height - 1), `… and ${more} more lines`];
    }
    const linesUp = this.#drawn > 0 ? `\x1b[${this.#drawn}A` : "";
    this.#screen.write(`${linesUp}${lines.map((line) => `\x1b[2K${line}\n`).join("")}\x1b[0J`);
    this.#drawn = lines.length;
  }

  #printChanges(rows: readonly PodRow[], notes: readonly string[]): void {
    const current = new Map<string, string>();
    for (const row of rows) {
      const blocked = row.why ? ` (${row.why})` : "";
      const ip = row.ip ? ` ${row.ip}` : "";
      current.set(
        row.uid,
        printable(
          `${row.namespace}/${row.name}: ${row.phase}, ${row.ready} ready, ${row.restarts} restarts${ip}${blocked}`,
        ),
      );
    }
    for (const [uid, line] of current) if (this.#last.get(uid) !== line) this.#screen.write(`${line}\n`);
    for (const [uid, line] of this.#last)
      if (!current.has(uid) && uid !== "") this.#screen.write(`${line.split(":")[0]}: gone\n`);
    const note = notes.join("\n");
    if (note && this.#last.get("") !== note) this.#screen.write(`${note}\n`);
    if (note) current.set("", note);
    this.#last = current;
  }
}
