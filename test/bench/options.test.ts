import assert from "node:assert/strict";
import { test } from "node:test";
import { optionHelp, parseOptions, UsageError } from "./options.ts";

const table = {
  pods: { kind: "count", default: 60, most: 250, help: "pods of the burst" },
  rounds: { kind: "count", default: 3, help: "rounds" },
  containerd: { kind: "choice", default: "2.x", values: ["1.6", "2.x"], help: "version of containerd" },
  quick: { kind: "flag", help: "short windows" },
  json: { kind: "path", help: "file to write" },
  reference: { kind: "paths", help: "another kubelet" },
} as const;

test("options without arguments have their defaults", () => {
  assert.deepEqual(parseOptions(table, []), {
    pods: 60,
    rounds: 3,
    containerd: "2.x",
    quick: false,
    json: undefined,
    reference: [],
  });
});

test("values follow their option or an equals sign, and paths may be repeated", () => {
  const args = ["--pods", "110", "--json=a=b.json", "--quick", "--reference", "x", "--reference=y"];
  const values = parseOptions(table, args);
  assert.deepEqual(
    [values.pods, values.json, values.quick, values.reference],
    [110, "a=b.json", true, ["x", "y"]],
  );
});

for (const [args, message] of [
  [["--pod", "3"], /^unknown option --pod; known: --pods, --rounds/],
  [["--constructor"], /^unknown option --constructor/],
  [["burst"], /^unexpected argument "burst"$/],
  [["--pods"], /^--pods needs a value: pods of the burst$/],
  [["--pods", "--quick"], /^--pods needs a value/],
  [["--pods="], /^--pods needs a value/],
  [["--pods", "0"], /^--pods: "0" is not a whole number from 1 to 250$/],
  [["--pods", "251"], /^--pods: "251" is not a whole number from 1 to 250$/],
  [["--rounds", "1.5"], /^--rounds: "1.5" is not a whole number of at least 1$/],
  [["--rounds=-1"], /^--rounds: "-1" is not a whole number/],
  [["--containerd", "3"], /^--containerd: "3" is none of 1.6, 2.x$/],
  [["--quick=yes"], /^--quick has no value$/],
] as const)
  test(`"${args.join(" ")}" is rejected with a message that names the problem`, () => {
    assert.throws(
      () => parseOptions(table, args),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  });

test("the help has one line for each option, with its default", () => {
  const lines = optionHelp(table);
  assert.equal(lines.length, Object.keys(table).length);
  assert.match(lines[0]!, /^ {2}--pods N\s+pods of the burst \(default: 60\)$/);
  assert.match(lines[3]!, /^ {2}--quick\s+short windows$/);
});
