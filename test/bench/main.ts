// npm run bench [-- MODE] [options]
import * as coldStart from "./cold-start.ts";
import * as compare from "./compare.ts";
import * as nodeConsole from "./console.ts";
import * as idle from "./idle.ts";
import * as listWatch from "./list-watch.ts";
import { type OptionTable, optionHelp, parseOptions, UsageError } from "./options.ts";
import * as streams from "./streams.ts";
import * as volumes from "./volumes.ts";

interface Mode {
  readonly summary: string;
  readonly options: OptionTable;
  /** False if a limit is exceeded. */
  run(values: never): Promise<boolean>;
}

const modes: Readonly<Record<string, Mode>> = {
  "cold-start": coldStart,
  compare,
  console: nodeConsole,
  idle,
  "list-watch": listWatch,
  streams,
  volumes,
};

const args = process.argv.slice(2);
const name = args[0] !== undefined && !args[0].startsWith("-") ? args.shift()! : "compare";

function help(): string {
  const parts = Object.entries(modes).map(([mode, { summary, options }]) => {
    const command = mode === "compare" ? "npm run bench -- [options]" : `npm run bench -- ${mode} [options]`;
    return [`${command}: ${summary}`, ...optionHelp(options)].join("\n");
  });
  return parts.join("\n\n");
}

async function main(): Promise<number> {
  const mode = Object.hasOwn(modes, name) ? modes[name] : undefined;
  if (!mode) throw new UsageError(`unknown mode "${name}"; known: ${Object.keys(modes).join(", ")}`);
  if (args.includes("--help")) {
    console.log(help());
    return 0;
  }
  // What is set explicitly comes later, and wins.
  const defaults = mode === compare && args.includes("--quick") ? compare.quickDefaults : [];
  const ok = await mode.run(parseOptions(mode.options, [...defaults, ...args]) as never);
  return ok ? 0 : 1;
}

process.exitCode = await main().catch((error) => {
  if (!(error instanceof UsageError)) throw error;
  console.error(`npm run bench: ${error.message}\nnpm run bench -- --help lists all options`);
  return 2;
});
