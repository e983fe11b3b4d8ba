/** The observable behavior of the main process of a container. */
export interface Program {
  readonly steps: readonly Step[];
  /** On SIGTERM: exit with this code, ignore it, or the default action of the kernel. */
  readonly onTerm: number | "ignore" | "default";
}

export type Step =
  | { readonly do: "print"; readonly to: "stdout" | "stderr"; readonly line: string }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "exit"; readonly code: number }
  | { readonly do: "run-forever" };

/** Runs until it is stopped, like most servers. */
export const server: Program = { steps: [{ do: "run-forever" }], onTerm: 0 };

/**
 * The subset of a shell that tests need: sleep, echo, exit, true, false, trap and endless loops, after `sh -c` or
 * alone. Undefined if there is no such program.
 */
export function parseCommand(argv: readonly string[]): Program | undefined {
  const [name = "", ...args] = argv;
  if (/^(\/bin\/)?sh$/.test(name)) return args[0] === "-c" ? parseScript(args[1] ?? "") : server;
  const step = parseStatement([name.replace(/^\/bin\//, ""), ...args]);
  return step && { steps: [...step, { do: "exit", code: exitCodeOf(step) }], onTerm: "default" };
}

function parseScript(script: string): Program {
  const steps: Step[] = [];
  let onTerm: Program["onTerm"] = "default";
  let last: readonly Step[] = [];
  for (const statement of splitStatements(script)) {
    const tokens = splitArgs(statement);
    if (tokens[0] === "while" || tokens[0] === "until") {
      steps.push({ do: "run-forever" });
      break;
    }
    if (tokens[0] === "trap") {
      if (tokens.slice(2).includes("TERM")) onTerm = trapOf(tokens[1] ?? "");
      continue;
    }
    last = parseStatement(tokens[0] === "exec" ? tokens.slice(1) : tokens) ?? [{ do: "exit", code: 127 }];
    steps.push(...last);
  }
  steps.push({ do: "exit", code: exitCodeOf(last) });
  return { steps, onTerm };
}

function trapOf(action: string): Program["onTerm"] {
  if (action === "") return "ignore";
  const exit = /\bexit(?:\s+(\d+))?/.exec(action);
  return exit ? Number(exit[1] ?? 0) : "ignore";
}

function parseStatement(tokens: readonly string[]): Step[] | undefined {
  const [name, ...args] = tokens;
  switch (name) {
    case "sleep":
      if (args[0] === "inf" || args[0] === "infinity") return [{ do: "run-forever" }];
      return [{ do: "wait", ms: Number(args[0] ?? 0) * 1000 }];
    case "echo": {
      const to = args.includes(">&2") ? "stderr" : "stdout";
      return [{ do: "print", to, line: args.filter((word) => word !== ">&2").join(" ") }];
    }
    case "exit":
      return [{ do: "exit", code: Number(args[0] ?? 0) }];
    case "true":
    case "false":
    case ":":
      return [{ do: "wait", ms: 0 }, ...(name === "false" ? [{ do: "exit", code: 1 } as const] : [])];
    default:
      return undefined;
  }
}

/** A script exits with the code of its last command; only `exit` and `false` have another than 0 here. */
function exitCodeOf(steps: readonly Step[]): number {
  const last = steps.at(-1);
  return last?.do === "exit" ? last.code : 0;
}

function splitStatements(script: string): string[] {
  return [...script.matchAll(/(?:'[^']*'|"[^"]*"|[^;\n'"&]|&(?!&))+/g)]
    .map(([s]) => s.trim())
    .filter(Boolean);
}

function splitArgs(statement: string): string[] {
  return [...statement.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((m) => m[1] ?? m[2] ?? m[3] ?? "");
}
