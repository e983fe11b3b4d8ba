import { spawn } from "node:child_process";
import type { Clock } from "../../../../lib/base/clock.ts";

export interface ProgramRun {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

const maxOutput = 1024 * 1024;
const maxComplaint = 2048;

/** Runs a program to its end and gives what it wrote. Fails with what it complained about, without what it wrote. */
export function runProgram(run: ProgramRun): Promise<string> {
  return new Promise((resolve, reject) => {
    // In a group of its own, so that all that it started can be ended with it.
    const child = spawn(run.path, [...run.args], { env: run.env, stdio: "pipe", detached: true });
    let output = "";
    let complaint = "";
    const cancel = run.clock.after(run.timeoutMs, () =>
      giveUp(`did not end within ${run.timeoutMs / 1000} s`),
    );
    const settle = (done: () => void) => {
      cancel();
      done();
    };
    const giveUp = (why: string) => {
      // Its streams may stay open in the hands of others: they are not waited for.
      if (child.pid !== undefined) endGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      settle(() => reject(new Error(withComplaint(why))));
    };
    const withComplaint = (why: string) => (complaint.trim() ? `${why}: ${complaint.trim()}` : why);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > maxOutput) giveUp(`wrote more than ${maxOutput} bytes`);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint = (complaint + text).slice(-maxComplaint);
    });
    child.on("error", (error) => settle(() => reject(error)));
    child.on("close", (code, signal) => {
      const why = signal ? `was ended by ${signal}` : `exit status ${code}`;
      settle(() => (code === 0 ? resolve(output) : reject(new Error(withComplaint(why)))));
    });
    // It need not read what it is told.
    child.stdin.on("error", () => {});
    child.stdin.end(run.input);
  });
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
