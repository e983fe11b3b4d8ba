import { abortable } from "../base/abort.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { type ProgramCall, startProgram } from "./start-program.ts";

export interface CommandResult {
  /** Undefined if it was killed after the timeout. */
  readonly code: number | undefined;
  /** stdout and stderr, interleaved. */
  readonly output: string;
  readonly stdout: string;
}

/** System commands, where system calls do not suffice. */
export interface Commands {
  /** Rejects if the command cannot be started, or the signal is aborted. */
  run(call: ProgramCall, limits: CommandLimits): Promise<CommandResult>;
}

export interface CommandLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const maxOutput = 64 * 1024;

export function systemCommands(clock: Clock = systemClock): Commands {
  return {
    run: (call, { timeoutMs, signal }) =>
      abortable(signal, (resolve, reject) => {
        const child = startProgram(call, { stdio: ["ignore", "pipe", "pipe"] });
        let output = "";
        let stdout = "";
        const append = (chunk: Buffer) => {
          if (output.length < maxOutput) output += chunk.toString("utf8");
        };
        child.stdout.on("data", (chunk: Buffer) => {
          if (output.length < maxOutput) stdout += chunk.toString("utf8");
          append(chunk);
        });
        child.stderr.on("data", append);
        let hasEnded = false;
        child.on("error", (error) => {
          hasEnded = true;
          reject(error);
        });
        child.on("close", (code) => {
          hasEnded = true;
          resolve({ code: code ?? undefined, output, stdout });
        });
        const cancelTimer = clock.after(timeoutMs, () => resolve({ code: undefined, output, stdout }));
        return () => {
          cancelTimer();
          if (hasEnded) return;
          // A process that waits for a dead server cannot be killed: its exit is not awaited.
          child.kill("SIGKILL");
          child.stdout.destroy();
          child.stderr.destroy();
          child.unref();
        };
      }),
  };
}

/** The exit message of a command, as in Go. */
export function exitText({ code }: Pick<CommandResult, "code">): string {
  return code === undefined ? "signal: killed" : `exit status ${code}`;
}
