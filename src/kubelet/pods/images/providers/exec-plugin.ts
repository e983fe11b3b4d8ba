import type { Clock } from "../../../../lib/base/clock.ts";
import { startProgram } from "../../../../lib/host/start-program.ts";

export interface PluginRun {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: string;
  /** Part of the input, and never of an error. */
  readonly secret?: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

const maxOutput = 1024 * 1024;
const maxStderr = 2048;

/** Runs a plugin and returns its stdout. Fails with its stderr, without its stdout. */
export function execPlugin(run: PluginRun): Promise<string> {
  return new Promise((resolve, reject) => {
    // In its own process group, so that its children can be killed with it.
    const child = startProgram(
      { program: run.path, verbatim: run.args },
      { env: run.env, stdio: "pipe", detached: true },
    );
    let output = "";
    let stderr = "";
    const cancel = run.clock.after(run.timeoutMs, () =>
      abort(`did not exit within ${run.timeoutMs / 1000} s`),
    );
    const settle = (done: () => void) => {
      cancel();
      done();
    };
    const abort = (why: string) => {
      // Its children may keep the streams open: do not wait for them.
      if (child.pid !== undefined) killGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      settle(() => reject(new Error(withStderr(why))));
    };
    const withStderr = (why: string) => (stderr.trim() ? `${why}: ${stderr.trim()}` : why);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > maxOutput) abort(`wrote more than ${maxOutput} bytes`);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      // The secret first: a part of it would not be recognized. A token that has not arrived completely is at the end.
      stderr = hidden(stderr + text, run.secret).slice(-Math.max(maxStderr, run.secret?.length ?? 0));
    });
    child.on("error", (error) => settle(() => reject(error)));
    child.on("close", (code, signal) => {
      const why = signal ? `was killed by ${signal}` : `exit status ${code}`;
      settle(() => (code === 0 ? resolve(output) : reject(new Error(withStderr(why)))));
    });
    // A plugin may exit without reading its input.
    child.stdin.on("error", () => {});
    child.stdin.end(run.input);
  });
}

function hidden(text: string, secret: string | undefined): string {
  return secret ? text.replaceAll(secret, "[token]") : text;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has already exited.
  }
}
