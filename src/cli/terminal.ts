import type { Readable, Writable } from "node:stream";

/** The streams of a command. */
export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}
