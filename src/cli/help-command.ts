import type { Writable } from "node:stream";
import { usage } from "./flags.ts";

/** `kubelet --help`. Apart from the agent: the text needs the tables of flags and defaults, and nothing that runs pods. */
export function helpCommand(out: Writable): number {
  out.write(usage());
  return 0;
}
