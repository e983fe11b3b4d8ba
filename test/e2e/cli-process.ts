import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { kubeletProgram } from "../kubelet-program.ts";
import { type ContainerdVersion, containerd2Dir } from "../node/test-node.ts";

export interface CliOptions {
  env?: NodeJS.ProcessEnv;
  /** The command that runs the program's file, in place of Node.js. */
  launcher?: readonly string[];
  /** The command is killed after this time, so that only its own test fails. */
  withinMs?: number;
  /** Standard input. */
  input?: string;
}

/** A running command of the kubelet. */
export class CliProcess {
  readonly child: ChildProcess;
  readonly #closed: Promise<unknown>;
  stdout = "";
  stderr = "";

  constructor(args: readonly string[], options: CliOptions = {}) {
    const [program, ...before] = options.launcher ?? [process.execPath];
    this.child = spawn(program!, [...before, kubeletProgram, ...args], {
      stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      env: options.env ?? process.env,
    });
    this.child.stdin?.end(options.input);
    this.child.stdout!.on("data", (chunk) => {
      this.stdout += chunk;
    });
    this.child.stderr!.on("data", (chunk) => {
      this.stderr += chunk;
    });
    const timer = setTimeout(() => this.child.kill("SIGKILL"), options.withinMs ?? 60_000);
    this.#closed = once(this.child, "close").finally(() => clearTimeout(timer));
  }

  async exited(): Promise<CliResult> {
    await this.#closed;
    const { stdout, stderr } = this;
    return { status: this.child.exitCode ?? this.child.signalCode, stdout, stderr, pid: this.child.pid! };
  }
}

export interface CliResult {
  status: number | NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  pid: number;
}

/** Runs a command to its end. */
export function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return new CliProcess(args, options).exited();
}

/** An environment in which commands that look for containerd find the one of this version. */
export function environmentFor(version: ContainerdVersion): NodeJS.ProcessEnv {
  if (version === "1.6") return process.env;
  return { ...process.env, PATH: `${containerd2Dir}:${dirname(process.execPath)}:${process.env.PATH}` };
}
