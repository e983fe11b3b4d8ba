import type { Writable } from "node:stream";
import { commandRows } from "./command-list.ts";
import { usage } from "./flags.ts";

/** `kubelet --help`. Separate from the agent: the text needs only the tables of flags and defaults. */
export function flagHelp(out: Writable): number {
  out.write(usage());
  return 0;
}

/** `kubelet help`. */
export function commandHelp(out: Writable): number {
  out.write(`Commands:
${commandRows()}
\`kubelet --help\` lists the flags of the agent.
`);
  return 0;
}
