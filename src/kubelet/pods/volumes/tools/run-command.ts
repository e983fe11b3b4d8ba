import { spawn } from "node:child_process";
import { type Clock, systemClock } from "../../../../lib/base/clock.ts";
import { abortError } from "../../../../lib/base/errors.ts";

export interface CommandResult {
  /** Undefined if it was killed: it took too long. */
  readonly code: number | undefined;
  /** Both outputs, as they came. */
  readonly output: string;
}

/** The system's own tools, for what no system call does. */
export interface Commands {
  /** Rejects if the command cannot be started, or the signal is aborted. */
  run(command: string, args: readonly string[], limits: CommandLimits): Promise<CommandResult>;
}

export interface CommandLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const mostOutput = 64 * 1024;

export function systemCommands(clock: Clock = systemClock): Commands {
  return {
    run: (command, args, { timeoutMs, signal }) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(abortError(signal.reason));
        const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
        let output = "";
        const take = (chunk: Buffer) => {
          if (output.length < mostOutput) output += chunk.toString("utf8");
        };
        child.stdout.on("data", take);
        child.stderr.on("data", take);
        // A process that waits for a dead server cannot be killed: nobody waits for its end.
        const giveUp = (end: () => void) => {
          child.kill("SIGKILL");
          child.stdout.destroy();
          child.stderr.destroy();
          child.unref();
          settle(end);
        };
        const cancelTimer = clock.after(timeoutMs, () => giveUp(() => resolve({ code: undefined, output })));
        const onAbort = () => giveUp(() => reject(abortError(signal.reason)));
        const settle = (end: () => void) => {
          cancelTimer();
          signal.removeEventListener("abort", onAbort);
          end();
        };
        signal.addEventListener("abort", onAbort, { once: true });
        child.on("error", (error) => settle(() => reject(error)));
        child.on("close", (code) => settle(() => resolve({ code: code ?? undefined, output })));
      }),
  };
}

/** How Kubernetes words the end of a command. */
export function exitText({ code }: CommandResult): string {
  return code === undefined ? "signal: killed" : `exit status ${code}`;
}
