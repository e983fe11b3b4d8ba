import { argumentsOf, type ProgramCall } from "./start-program.ts";
import type { Commands } from "./system-commands.ts";

/** Results by the prefix of the command line; commands that are not listed succeed without output. */
export class FakeCommands implements Commands {
  /** The program and its arguments, of each call. */
  readonly calls: (readonly string[])[] = [];
  readonly lines: string[] = [];
  readonly results: Record<string, { code?: number | undefined; output?: string; effect?: () => void }>;

  constructor(results: FakeCommands["results"] = {}) {
    this.results = results;
  }

  async run(call: ProgramCall) {
    const started = [call.program, ...argumentsOf(call)];
    const line = started.join(" ");
    this.calls.push(started);
    this.lines.push(line);
    const key = Object.keys(this.results).find((prefix) => line.startsWith(prefix));
    const result = key === undefined ? undefined : this.results[key];
    result?.effect?.();
    const output = result?.output ?? "";
    return { code: result && "code" in result ? result.code : 0, output, stdout: output };
  }
}
