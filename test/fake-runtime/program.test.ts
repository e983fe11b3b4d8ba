import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Program, parseCommand } from "./program.ts";

const sh = (script: string) => ["/bin/sh", "-c", script];
const exit = (code: number) => ({ do: "exit", code }) as const;
const print = (line: string, to: "stdout" | "stderr" = "stdout") => ({ do: "print", to, line }) as const;
const forever = { do: "run-forever" } as const;

describe("commands of fake containers", () => {
  const rows: [rule: string, argv: string[], program: Program | undefined][] = [
    [
      "sleep exits with 0 after its duration",
      ["/bin/sleep", "2"],
      { steps: [{ do: "wait", ms: 2000 }, exit(0)], onTerm: "default" },
    ],
    ["false fails", ["false"], { steps: [{ do: "wait", ms: 0 }, exit(1), exit(1)], onTerm: "default" }],
    [
      "a script runs its commands in order",
      sh("echo a b; echo 'c;d' >&2; exit 3"),
      { steps: [print("a b"), print("c;d", "stderr"), exit(3), exit(3)], onTerm: "default" },
    ],
    [
      "a loop runs forever",
      sh("echo up; while true; do sleep 1; done"),
      { steps: [print("up"), forever, exit(0)], onTerm: "default" },
    ],
    ["a trap may exit", sh("trap 'exit 5' TERM; sleep inf"), { steps: [forever, exit(0)], onTerm: 5 }],
    [
      "an empty trap ignores the signal",
      sh("trap '' TERM; sleep inf"),
      { steps: [forever, exit(0)], onTerm: "ignore" },
    ],
    ["other programs do not exist", ["/no/such/program"], undefined],
    [
      "a shell returns 127 for an unknown command",
      sh("nonsense"),
      { steps: [exit(127), exit(127)], onTerm: "default" },
    ],
  ];
  for (const [rule, argv, program] of rows) {
    it(rule, () => {
      const parsed = parseCommand(argv);
      const steps = parsed?.steps.slice(0, program?.steps.length);
      assert.deepEqual(parsed && { ...parsed, steps }, program);
    });
  }
});
