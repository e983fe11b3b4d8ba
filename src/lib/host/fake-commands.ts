import type { Commands } from "./system-commands.ts";

/** Results by the prefix of the command line; commands that are not listed succeed without output. */
export class FakeCommands implements Commands {
  readonly lines: string[] = [];
  readonly results: Record<string, { code?: number | undefined; output?: string; effect?: () => void }>;

  constructor(results: FakeCommands["results"] = {}) {
    this.results = results;
  }

  async run(command: string, args: readonly string[]) {
    const line = [command, ...args].join(" ");
    this.lines.push(line);
    const key = Object.keys(this.results).find((prefix) => line.startsWith(prefix));
    const result = key === undefined ? undefined : this.results[key];
    result?.effect?.();
    return { code: result && "code" in result ? result.code : 0, output: result?.output ?? "" };
  }
}
