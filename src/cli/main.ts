import { writeFileSync } from "node:fs";
import { KubeletError, messageOf } from "../base/errors.ts";
import { agentCommand } from "./agent-command.ts";
import { apiCommand } from "./api-command.ts";
import { applyCommand } from "./apply-command.ts";
import { deleteCommand } from "./delete-command.ts";
import { explainCommand } from "./explain-command.ts";
import { podsCommand } from "./pods-command.ts";
import { runCommand } from "./run-command.ts";
import { upCommand } from "./up-command.ts";

/** Node calls its processes by the name of a thread; whoever looks for a kubelet looks for this name. */
function nameProcess(): void {
  try {
    writeFileSync("/proc/self/comm", "kubelet");
  } catch {
    // Not Linux: the command says so itself.
  }
}

/** `kubelet` with flags is the agent; with a word it is one of our own commands. */
async function main(args: readonly string[]): Promise<number> {
  const [word, ...rest] = args;
  switch (word) {
    case "api":
      return apiCommand(rest, process.stdout);
    case "up":
      return upCommand(rest, process.stdout);
    case "apply":
      return applyCommand(rest, process);
    case "delete":
      return deleteCommand(rest, process);
    case "explain":
      return explainCommand(rest, process.stdout);
    case "pods":
      return podsCommand(rest, process.stdout);
    case "run":
      return runCommand(rest, process.stdout);
    default:
      if (word && !word.startsWith("-"))
        throw new KubeletError(
          "Usage",
          `unknown command: ${word} (there are: up, pods, explain, apply, delete, run, api; without a word: the agent)`,
        );
      return agentCommand(args);
  }
}

// Who reads us may have seen enough: `kubelet pods -w | head -1`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

nameProcess();
main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    // What a system call said is for users too; anything else is a fault of ours, and the stack tells where.
    const known = error instanceof KubeletError || (error as NodeJS.ErrnoException | undefined)?.syscall;
    process.stderr.write(
      `kubelet: ${known ? messageOf(error) : error instanceof Error ? error.stack : error}\n`,
    );
    process.exit(1);
  },
);
