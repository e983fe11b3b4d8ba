import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { hostileText } from "../../../test/builders/hostile-text.ts";
import { argumentsOf, type ProgramCall } from "./start-program.ts";
import { systemCommands } from "./system-commands.ts";

const accepted: [string, ProgramCall, readonly string[]][] = [
  [
    "options and values",
    { program: "a", options: ["-v", ["-o", "x"], ["--file", "y"]] },
    ["-v", "-o", "x", "--file", "y"],
  ],
  [
    "a joined value, whatever it begins with",
    { program: "a", options: [["--grep=", "--x"]] },
    ["--grep=--x"],
  ],
  ["an empty joined value", { program: "a", options: [["--grep=", ""]] }, ["--grep="]],
  [
    "operands after the end of the options",
    { program: "/bin/a", options: ["-f"], operands: ["x"] },
    ["-f", "--", "x"],
  ],
  [
    "operands of a program that has no end of options",
    { program: "/sbin/fsck", options: ["-a"], operands: ["/x"] },
    ["-a", "/x"],
  ],
  [
    "arguments as they are, before the operands",
    { program: "a", verbatim: ["-x", ""], operands: ["y"] },
    ["-x", "", "--", "y"],
  ],
  ["an operand with any other text", { program: "a", operands: ["x -y\n;=,$(z)"] }, ["--", "x -y\n;=,$(z)"]],
];

const rejected: [string, ProgramCall, RegExp][] = [
  [
    "an operand that begins with a dash",
    { program: "mount", operands: ["--all"] },
    /^mount: an operand must not be empty or begin with "-": "--all"$/,
  ],
  ["an empty operand", { program: "a", operands: [""] }, /an operand must not be empty/],
  [
    "a value that begins with a dash",
    { program: "a", options: [["-o", "-x"]] },
    /the value of -o must not be empty or begin with "-": "-x"/,
  ],
  ["an empty value", { program: "a", options: [["--file", ""]] }, /the value of --file must not be empty/],
  [
    "a name with a value in it",
    { program: "a", options: ["--file=x"] },
    /not the name of an option: "--file=x"/,
  ],
  ["several short options in one", { program: "a", options: ["-ab"] }, /not the name of an option/],
  ["a joined option without its value", { program: "a", options: ["--file="] }, /not the name of an option/],
  ["the end of the options", { program: "a", options: ["--"] }, /not the name of an option/],
  ["a NUL character", { program: "a", operands: ["x\0y"] }, /contains a NUL character: "x\\u0000y"/],
  ["a program that is an option", { program: "-a" }, /neither a name nor an absolute path/],
  ["a program in a relative path", { program: "mkfs.x/../../bin/sh" }, /neither a name nor an absolute path/],
  ["no program", { program: "" }, /^program: neither a name nor an absolute path: ""$/],
];

describe("the arguments of a program", () => {
  for (const [what, call, args] of accepted)
    it(`are built from ${what}`, () => assert.deepEqual(argumentsOf(call), args));
  for (const [what, call, message] of rejected)
    it(`are rejected with ${what}`, () => assert.throws(() => argumentsOf(call), { message }));

  it("are received by the program as they are, whatever a user chose, or nothing is started", async () => {
    const dir = await mkdtemp(join(tmpdir(), "start-program-"));
    try {
      const program = join(dir, "echo-arguments");
      await writeFile(program, "#!/bin/sh\n[ $# = 0 ] || printf '<%s>\\n' \"$@\"\n");
      await chmod(program, 0o755);
      const started = async (call: ProgramCall) =>
        systemCommands()
          .run(call, { timeoutMs: 60_000, signal: new AbortController().signal })
          .then(
            ({ output }) => output,
            (error: Error & { code?: string }) => assert.equal(error.code, "ProgramArguments"),
          );
      await fc.assert(
        fc.asyncProperty(hostileText("x"), hostileText("y"), async (value, operand) => {
          const options: ProgramCall["options"] = [["-o", value], ["--joined=", value], "-f"];
          const output = await started({ program, options, operands: [operand] });
          if (output === undefined) return;
          const expected = `<-o>\n<${value}>\n<--joined=${value}>\n<-f>\n<-->\n<${operand}>\n`;
          assert.equal(output, expected.toWellFormed());
          assert.doesNotMatch(`${value[0]}${operand[0]}`, /-/);
        }),
        { numRuns: 60 },
      );
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it("without free file descriptors only the call fails, and the agent goes on", () => {
    const script = `
      import { openSync } from "node:fs";
      const { systemCommands } = await import(${JSON.stringify(import.meta.resolve("./system-commands.ts"))});
      const signal = new AbortController().signal;
      const start = () => systemCommands().run({ program: "true" }, { timeoutMs: 60_000, signal });
      try { for (;;) openSync("/dev/null"); } catch {}
      const failure = await start().then(() => "started", ({ code, message }) => [code, message].join(" "));
      // Emitted in a later turn, an error without a listener ends the process.
      await new Promise((resolve) => setImmediate(resolve));
      console.log(failure);`;
    const node = [process.execPath, "--input-type=module", "-e", script];
    const { stdout, status } = spawnSync("sh", ["-c", 'ulimit -n 60 && exec "$@"', "sh", ...node], {
      encoding: "utf8",
    });
    assert.deepEqual([stdout, status], ["EMFILE true: not started: too many open files\n", 0]);
  });
});
