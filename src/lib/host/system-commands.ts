import { type Clock, systemClock } from "../base/clock.ts";
import { abortError } from "../base/errors.ts";
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
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(abortError(signal.reason));
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
        // A process that waits for a dead server cannot be killed: its exit is not awaited.
        const abandon = (end: () => void) => {
          child.kill("SIGKILL");
          child.stdout.destroy();
          child.stderr.destroy();
          child.unref();
          settle(end);
        };
        const cancelTimer = clock.after(timeoutMs, () =>
          abandon(() => resolve({ code: undefined, output, stdout })),
        );
        const onAbort = () => abandon(() => reject(abortError(signal.reason)));
        const settle = (end: () => void) => {
          cancelTimer();
          signal.removeEventListener("abort", onAbort);
          end();
        };
        signal.addEventListener("abort", onAbort, { once: true });
        child.on("error", (error) => settle(() => reject(error)));
        child.on("close", (code) => settle(() => resolve({ code: code ?? undefined, output, stdout })));
      }),
  };
}

/** The exit message of a command, as in Go. */
export function exitText({ code }: Pick<CommandResult, "code">): string {
  return code === undefined ? "signal: killed" : `exit status ${code}`;
}
