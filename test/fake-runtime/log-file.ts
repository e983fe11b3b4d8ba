import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../src/lib/base/clock.ts";
import { epochMs } from "../../src/lib/base/time.ts";

/** The log of a container in the CRI format: time, stream, F for a full line, text. */
export class LogFile {
  readonly #path: string;
  readonly #clock: Clock;
  #fd: number | undefined;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  open(): void {
    this.close();
    if (this.#path === "") return;
    mkdirSync(dirname(this.#path), { recursive: true });
    this.#fd = openSync(this.#path, "a", 0o640);
  }

  write(stream: "stdout" | "stderr", line: string): void {
    if (this.#fd === undefined) return;
    // Go writes the fraction without the zeros at its end.
    const time = new Date(epochMs(this.#clock.wall())).toISOString().replace(/\.?0*Z$/, "Z");
    writeSync(this.#fd, `${time} ${stream} F ${line}\n`);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
