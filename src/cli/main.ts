import { writeFileSync } from "node:fs";
import { KubeletError, messageOf } from "../lib/base/errors.ts";
import { widenThreadPool } from "../lib/host/thread-pool.ts";

/** Node names its processes after a thread; tools look for a process named kubelet. */
function nameProcess(): void {
  try {
    writeFileSync("/proc/self/comm", "kubelet");
  } catch {
    // Not Linux: the command reports it itself.
  }
}

/** `kubelet` with flags is the agent; with a subcommand it is one of kubelet-ts's own commands, each loaded on demand. */
async function main(args: readonly string[]): Promise<number> {
  const [word, ...rest] = args;
  switch (word) {
    case "api":
      return (await import("./api-command.ts")).apiCommand(rest, process.stdout);
    case "up":
      return (await import("./up-command.ts")).upCommand(rest, process.stdout);
    case "apply":
      return (await import("./apply-command.ts")).applyCommand(rest, process);
    case "delete":
      return (await import("./delete-command.ts")).deleteCommand(rest, process);
    case "explain":
      return (await import("./explain-command.ts")).explainCommand(rest, process.stdout);
    case "pods":
      return (await import("./pods-command.ts")).podsCommand(rest, process.stdout);
    case "run":
      return (await import("./run-command.ts")).runCommand(rest, process.stdout);
    default:
      if (word && !word.startsWith("-"))
        throw new KubeletError(
          "Usage",
          `unknown command: ${word} (available: up, pods, explain, apply, delete, run, api; without a command: the agent)`,
        );
      return (await import("./agent-command.ts")).agentCommand(args);
  }
}

// Who reads us may have seen enough: `kubelet pods -w | head -1`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

widenThreadPool();
nameProcess();
main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    // Errors of system calls are shown to users as they are; anything else is a bug, and shown with its stack.
    const known = error instanceof KubeletError || (error as NodeJS.ErrnoException | undefined)?.syscall;
    process.stderr.write(
      `kubelet: ${known ? messageOf(error) : error instanceof Error ? error.stack : error}\n`,
    );
    process.exit(1);
  },
);
