import type { Writable } from "node:stream";
import { usage } from "./flags.ts";

/** `kubelet --help`. Separate from the agent: the text needs only the tables of flags and defaults. */
export function helpCommand(out: Writable): number {
  out.write(usage());
  return 0;
}
