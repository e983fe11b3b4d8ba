import type { Commands } from "./run-command.ts";

/** Answers by the beginning of the command line; all that is not listed succeeds and says nothing. */
export class FakeCommands implements Commands {
  readonly lines: string[] = [];
  readonly answers: Record<string, { code?: number | undefined; output?: string; effect?: () => void }>;

  constructor(answers: FakeCommands["answers"] = {}) {
    this.answers = answers;
  }

  async run(command: string, args: readonly string[]) {
    const line = [command, ...args].join(" ");
    this.lines.push(line);
    const key = Object.keys(this.answers).find((start) => line.startsWith(start));
    const answer = key === undefined ? undefined : this.answers[key];
    answer?.effect?.();
    return { code: answer && "code" in answer ? answer.code : 0, output: answer?.output ?? "" };
  }
}
