import { writeFileSync } from "node:fs";
import { isKubeletError, KubeletError, messageOf } from "../lib/base/errors.ts";
import { readableStack } from "../lib/base/readable-stack.ts";
import { printableLines } from "../lib/base/terminal-text.ts";
import { parseFlags } from "../lib/config/flags/parse.ts";
import { widenThreadPool } from "../lib/host/thread-pool.ts";
import { closestCommand, commandList } from "./command-list.ts";
import { exitWhenWritten } from "./exit-when-written.ts";
import { rawVersion, version } from "./version.ts";

/** Node.js names its processes after a thread; tools look for a process named kubelet. */
function nameProcess(): void {
  try {
    writeFileSync("/proc/self/comm", "kubelet");
  } catch {
    // On other systems than Linux, the command itself reports the error.
  }
}

/**
 * `kubelet` with flags is the agent; with a subcommand it is one of kubelet-ts's own commands. Each is a bundle of its own
 * (scripts/lib/bundle.mjs), loaded on demand.
 */
async function main(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case "api":
      return (await import("./api-command.ts")).apiCommand(rest, process.stdout);
    case "up":
      requireLinux(rest);
      return (await import("./up-command.ts")).upCommand(rest, process.stdout);
    case "apply":
      return (await import("./apply-command.ts")).applyCommand(rest, process);
    case "console":
      return (await import("./console-command.ts")).consoleCommand(rest, process.stdout);
    case "delete":
      return (await import("./delete-command.ts")).deleteCommand(rest, process);
    case "explain":
      return (await import("./explain-command.ts")).explainCommand(rest, process.stdout);
    case "help":
      return help(rest);
    case "pods":
      return (await import("./pods-command.ts")).podsCommand(rest, process.stdout);
    case "run":
      requireLinux(rest);
      return (await import("./run-command.ts")).runCommand(rest, process.stdout);
    default:
      if (command && !command.startsWith("-")) throw unknownCommand(command);
      return agentWith(args);
  }
}

function unknownCommand(typed: string): KubeletError {
  const meant = closestCommand(typed);
  return new KubeletError(
    "Usage",
    `unknown command: ${typed.slice(0, 100)}${meant ? `, did you mean ${meant}?` : ""} (\`kubelet help\` lists the commands; without a command: the agent)`,
  );
}

function isCommand(argument: string | undefined): boolean {
  return commandList.some(({ name }) => name === argument);
}

/** `kubelet help` lists the commands, `kubelet help COMMAND` is its --help. */
async function help([command]: readonly string[]): Promise<number> {
  if (command === undefined || command === "help" || command.startsWith("-"))
    return (await import("./help-command.ts")).commandHelp(process.stdout);
  if (!isCommand(command)) throw unknownCommand(command);
  return main([command, "--help"]);
}

/** The version and the help need the flags only, not the agent. As upstream: a configuration file is not read for them. */
async function agentWith(args: readonly string[]): Promise<number> {
  const { flags, deprecations } = parseFlags(args);
  for (const line of deprecations) process.stderr.write(`${line}\n`);
  if (flags.help) return (await import("./help-command.ts")).flagHelp(process.stdout);
  if (flags.version === "true" || flags.version === "raw") {
    process.stdout.write(flags.version === "raw" ? `${rawVersion()}\n` : `Kubernetes ${version}\n`);
    return 0;
  }
  requireLinux(args);
  return (await import("./agent-command.ts")).agentCommand(args);
}

/** Before the command is loaded: native code of other platforms may not be installed. Help is printed everywhere. */
function requireLinux(args: readonly string[]): void {
  if (process.platform === "linux" || args.includes("--help") || args.includes("-h")) return;
  throw new KubeletError("Platform", `kubelet-ts requires Linux, this is ${process.platform}`);
}

// A reader may close the pipe early: `kubelet pods -w | head -1`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  // A command that has its own log handles the other errors.
  if (process.stdout.listenerCount("error") === 1) throw error;
});

// Node.js would open a debugger on a loopback port, where any local user can run code in this process. bin/kubelet disables that
// from the start; this is for other ways to start the program.
process.on("SIGUSR1", () => {});

// A command that has its own log writes the exception there.
process.on("uncaughtException", (error) => {
  if (process.listenerCount("uncaughtException") === 1) fail(error);
});

function fail(error: unknown): never {
  process.stderr.write(`kubelet: ${error instanceof Error ? readableStack(error) : error}\n`);
  process.exit(1);
}

widenThreadPool();
nameProcess();
main(process.argv.slice(2)).then(
  // The agent ends even if its log is not read.
  (code) => (isCommand(process.argv[2]) ? exitWhenWritten(code) : process.exit(code)),
  (error: unknown) => {
    // System call errors are shown to users as they are; any other error is a bug and shown with its stack.
    const known = isKubeletError(error) || (error as NodeJS.ErrnoException | undefined)?.syscall;
    if (!known) fail(error);
    process.stderr.write(`kubelet: ${printableLines(messageOf(error))}\n`);
    process.exit(1);
  },
);
