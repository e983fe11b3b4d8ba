import { dirname, join } from "node:path";
import type { ConsoleOptions } from "../kubelet/agent/agent-options.ts";
import type { Clock } from "../lib/base/clock.ts";
import type { Logger } from "../lib/base/logger.ts";

/** The console for an agent. Its code is evaluated only if it is served. */
export async function servedConsole(o: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly linkCommand: string;
  readonly loopbackPort?: number;
  readonly sessionsFile?: string;
}): Promise<ConsoleOptions> {
  const { createConsole } = await import("../console/console.ts");
  const { clock, logger, sessionsFile, ...more } = o;
  const program = process.argv[1] ?? "";
  // The build puts the page next to the program. A program that runs from the sources uses the page of the last build.
  const pageDir = join(dirname(program), program.endsWith(".ts") ? "../../dist/console" : "console");
  return {
    ...more,
    create: (node) =>
      createConsole({ node, pageDir, clock, logger, ...(sessionsFile !== undefined && { sessionsFile }) }),
  };
}
