import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeletError } from "../lib/base/errors.ts";
import { parseOptions } from "./options.ts";

const known = { o: "value", w: "switch", node: "value", "root-dir": "value", f: "values" } as const;

const table: [args: string, expected: object | string][] = [
  ["", { rest: [] }],
  ["-w", { w: true, rest: [] }],
  ["-o json", { o: "json", rest: [] }],
  ["-o=json", { o: "json", rest: [] }],
  ["--node n1 --root-dir=/x=y", { node: "n1", "root-dir": "/x=y", rest: [] }],
  ["--node=", { node: "", rest: [] }],
  ["--node a --node b", { node: "b", rest: [] }],
  ["-f a -f=b", { f: ["a", "b"], rest: [] }],
  ["pod.yaml -w other", { w: true, rest: ["pod.yaml", "other"] }],
  ["-", { rest: ["-"] }],
  ["-o", "flag needs an argument: -o"],
  ["-w=1", "-w=1: this option takes no value"],
  ["--nope", "unknown option: --nope"],
  ["-x", "unknown option: -x"],
  ["-ojson", "unknown option: -ojson"],
  ["--constructor", "unknown option: --constructor"],
  ["--no.de", "unknown option: --no.de"],
];
for (const [args, expected] of table)
  test(`options: "${args}"`, () => {
    const parse = () => parseOptions(args === "" ? [] : args.split(" "), known);
    if (typeof expected === "string")
      assert.throws(parse, (e: KubeletError) => e.code === "Usage" && e.message === expected);
    else assert.deepEqual(parse(), expected);
  });

test("unknown options can be passed through, in order", () =>
  assert.deepEqual(parseOptions(["--node", "n", "--v=4", "-x", "--", "a"], known, true), {
    node: "n",
    rest: ["--v=4", "-x", "--", "a"],
  }));
