import { basename } from "node:path";
import { whenAborted } from "../lib/base/abort.ts";
import { abortError, KubeletError } from "../lib/base/errors.ts";
import { argumentsOf, type ProgramCall, startProgram } from "../lib/host/start-program.ts";

export interface RunOptions {
  signal?: AbortSignal;
  /** Killed with SIGKILL after this long; default 30 s. */
  timeoutMs?: number;
  input?: string | Uint8Array;
  env?: NodeJS.ProcessEnv;
}

/** Runs a program to completion and resolves with its output; an exit status other than 0 is an error. */
export async function run(call: ProgramCall, options: RunOptions = {}): Promise<string> {
  const { signal, timeoutMs = 30_000 } = options;
  const title = [basename(call.program), ...argumentsOf(call)].join(" ");
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal.reason));
    const child = startProgram(call, { env: options.env, stdio: "pipe" });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, timeoutMs);
    const aborted = whenAborted(signal, () => child.kill("SIGKILL"));
    const cleanUp = () => {
      clearTimeout(timer);
      aborted[Symbol.dispose]();
    };
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    child.stdin.on("error", () => {}); // a program that does not read its input reports that by its exit status
    child.stdin.end(options.input);
    child.on("error", (cause) => {
      cleanUp();
      reject(new KubeletError("CommandFailed", `${title}: ${cause.message}`, { cause }));
    });
    child.on("close", (code, killedBy) => {
      cleanUp();
      const output = Buffer.concat(err).toString().trim();
      if (code === 0) resolve(Buffer.concat(out).toString());
      else if (signal?.aborted) reject(abortError(signal.reason));
      else if (timedOut)
        reject(new KubeletError("CommandTimeout", `${title}: timed out after ${timeoutMs} ms`));
      else
        reject(new KubeletError("CommandFailed", `${title}: ${output || `exited with ${code ?? killedBy}`}`));
    });
  });
}
