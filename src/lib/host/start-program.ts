import {
  type ChildProcess,
  type ChildProcessByStdio,
  type ChildProcessWithoutNullStreams,
  type SpawnOptions,
  spawn,
} from "node:child_process";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { KubeletError } from "../base/errors.ts";

/** A program and its arguments, by their role: a value or an operand that a user chose is never read as an option. */
export interface ProgramCall {
  /** A name in PATH or an absolute path. */
  readonly program: string;
  readonly options?: readonly ProgramOption[];
  /**
   * Arguments that an administrator configured, or that this program computes itself, passed as they are. Only the files listed in
   * `scripts/lib/program-rule.mjs` may use them.
   */
  readonly verbatim?: readonly string[];
  readonly operands?: readonly string[];
}

/**
 * An option, whose name is a constant of the calling code, and its value: `["-o", value]` and `["--config", value]` are two arguments, and
 * the value must not begin with "-"; `["--grep=", value]` is one argument with any value.
 */
export type ProgramOption = OptionName | readonly [name: OptionName, value: string];
type OptionName = `-${string}`;

/** Programs whose parser does not end the options at "--", or whose subcommands come before them. */
const withoutEndOfOptions = new Set(["btrfs", "fsck", "getsubids", "xdg-open"]);

type StartOptions = Pick<SpawnOptions, "cwd" | "detached" | "env" | "stdio">;

/**
 * Starts a program; all programs are started here (`scripts/check-programs.mjs`). No shell interprets the arguments. Throws if an argument
 * could be taken for an option, and if too many files are open.
 */
export function startProgram(
  call: ProgramCall,
  options: StartOptions & { readonly stdio: ["ignore", "pipe", "pipe"] },
): ChildProcessByStdio<null, Readable, Readable>;
export function startProgram(
  call: ProgramCall,
  options: StartOptions & { readonly stdio: "pipe" },
): ChildProcessWithoutNullStreams;
export function startProgram(call: ProgramCall, options: StartOptions): ChildProcess;
export function startProgram(call: ProgramCall, options: StartOptions): ChildProcess {
  const child = spawn(call.program, argumentsOf(call), { ...options, shell: false });
  if (hasStreams(child)) return child;
  // Its error event would end the process: no caller can add a listener before it reads the streams.
  child.on("error", () => {});
  throw new KubeletError("EMFILE", `${call.program}: not started: too many open files`);
}

/** False if no pipes could be opened; the types of Node.js do not have this case. */
function hasStreams({ stdio }: { readonly stdio: unknown }): boolean {
  return stdio !== undefined;
}

/** The arguments of a call, in the order options, verbatim arguments, operands. Throws if one could be taken for an option. */
export function argumentsOf({
  program,
  options = [],
  verbatim = [],
  operands = [],
}: ProgramCall): readonly string[] {
  const reject = (what: string, value: string): never => {
    const text = `${program || "program"}: ${what}: ${JSON.stringify(value)}`;
    throw new KubeletError("ProgramArguments", text);
  };
  if (!/^(\/|[^-/][^/]*$)/.test(program)) reject("neither a name nor an absolute path", program);
  const args = options.flatMap((option) => {
    const [name, value] = typeof option === "string" ? [option] : option;
    const isJoined = name.endsWith("=");
    if (!/^(-[A-Za-z0-9]|--[a-z][a-z0-9-]*=?)$/.test(name) || (value === undefined && isJoined))
      return reject("not the name of an option", name);
    if (value === undefined) return [name];
    if (isJoined) return [`${name}${value}`];
    if (value === "" || value.startsWith("-"))
      return reject(`the value of ${name} must not be empty or begin with "-"`, value);
    return [name, value];
  });
  args.push(...verbatim);
  if (operands.length > 0 && !withoutEndOfOptions.has(basename(program))) args.push("--");
  for (const operand of operands) {
    // Rejected even after "--": mount(8) and fsck(8) pass their operands to other programs, and omit the "--".
    if (operand === "" || operand.startsWith("-"))
      reject('an operand must not be empty or begin with "-"', operand);
    args.push(operand);
  }
  for (const arg of [program, ...args]) if (arg.includes("\0")) reject("contains a NUL character", arg);
  return args;
}
