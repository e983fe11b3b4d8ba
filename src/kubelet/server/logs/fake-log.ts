import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { systemClock } from "../../../lib/base/clock.ts";
import { Listeners } from "../../../lib/base/listeners.ts";
import type { LogStream } from "./log-entry.ts";
import { type StreamLogOptions, streamLog } from "./stream-log.ts";

export interface FakeEntry {
  readonly stream: LogStream;
  readonly tag: string;
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export function entryText({ stream, tag, text, at }: FakeEntry): string {
  return `${new Date(at).toISOString().replace("Z", "000000Z")} ${stream} ${tag} ${text}\n`;
}

/** A log in its own directory, written and rotated as by a runtime and a kubelet. For tests. */
export class FakeLog {
  readonly dir = mkdtempSync(join(tmpdir(), "container-log-"));
  readonly path = join(this.dir, "0.log");
  running = true;
  #rotations = 0;
  #fd = openSync(this.path, "a");
  #listeners = new Listeners();

  write(text: string): void {
    writeSync(this.#fd, text);
  }

  entry(text: string, options: Partial<FakeEntry> = {}): void {
    this.write(entryText({ stream: "stdout", tag: "F", at: Date.now(), text, ...options }));
  }

  /** Rotates the log; the runtime opens a new one, and keeps the old one open until `close`. */
  beginRotation(): { name: string; write(text: string): void; close(): void } {
    const name = `0.log.20260101-${String(100_000 + ++this.#rotations)}`;
    renameSync(this.path, join(this.dir, name));
    const old = this.#fd;
    this.#fd = openSync(this.path, "a");
    return { name, write: (text) => void writeSync(old, text), close: () => closeSync(old) };
  }

  /** Returns the name of the rotated file. */
  rotate(): string {
    const rotation = this.beginRotation();
    rotation.close();
    return rotation.name;
  }

  compress(name: string): void {
    const path = join(this.dir, name);
    writeFileSync(`${path}.gz`, gzipSync(readFileSync(path)));
    rmSync(path);
  }

  end(): void {
    this.running = false;
    this.#listeners.notify();
  }

  get state() {
    return {
      isRunning: () => this.running,
      onChange: (listener: () => void) => this.#listeners.add(listener),
    };
  }

  get followers(): number {
    return this.#listeners.size;
  }

  append(name: string, text: string): void {
    appendFileSync(join(this.dir, name), text);
  }

  async read(options: Partial<StreamLogOptions> = {}): Promise<string> {
    const parts: Buffer[] = [];
    await streamLog(this.path, {
      write: async (bytes) => void parts.push(bytes),
      signal: new AbortController().signal,
      clock: systemClock,
      ...options,
    });
    return Buffer.concat(parts).toString();
  }

  remove(): void {
    closeSync(this.#fd);
    rmSync(this.dir, { recursive: true, force: true });
  }
}
