import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeConfiguration } from "./decode.ts";
import { apiVersion, kind, kubeletFields } from "./kubelet-configuration.ts";
import { formatConfigProblem, formatPath, type Path, type Problem } from "./problems.ts";
import type { Fields, Kind } from "./schema.ts";

const header = { apiVersion, kind };

/** A value of the field's type that is not its default, and a value of another type. */
function samples(type: Kind): { good: unknown; decoded: unknown; bad: unknown } {
  switch (type.kind) {
    case "bool":
      return { good: true, decoded: true, bad: "true" };
    case "int":
      return { good: 7, decoded: 7, bad: 1.5 };
    case "float":
      return { good: 0.25, decoded: 0.25, bad: "0.25" };
    case "string":
      return { good: "x", decoded: "x", bad: 7 };
    case "duration":
      return { good: "7s", decoded: 7000, bad: "7 seconds" };
    case "quantity":
      return { good: "7Mi", decoded: "7Mi", bad: "7QQ" };
    case "list": {
      const item = samples(type.of);
      return { good: [item.good], decoded: [item.decoded], bad: { not: "a list" } };
    }
    case "map": {
      const item = samples(type.of);
      return { good: { k: item.good }, decoded: { k: item.decoded }, bad: ["not a map"] };
    }
    case "object":
      return { good: {}, decoded: {}, bad: "not an object" };
    default:
      return type satisfies never;
  }
}

/** Every field at every depth, with one item in lists. */
function* everyField(fields: Fields, path: Path = []): Generator<[Path, Kind]> {
  for (const [name, { type }] of Object.entries(fields)) {
    yield [[...path, name], type];
    if (type.kind === "object") yield* everyField(type.fields, [...path, name]);
    if (type.kind === "list" && type.of.kind === "object")
      yield* everyField(type.of.fields, [...path, name, 0]);
  }
}

function at(path: Path, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  return typeof step === "number" ? [at(rest, value)] : { [step]: at(rest, value) };
}

const withHeader = (value: unknown) => ({ ...header, ...(value as object) });

for (const [path, type] of everyField(kubeletFields)) {
  const { good, decoded, bad } = samples(type);
  test(`${formatPath(path)} accepts a ${type.kind} and nothing else`, () => {
    const right = decodeConfiguration(withHeader(at(path, good)));
    assert.deepEqual(right.problems, []);
    assert.deepEqual(right.config, at(path, decoded));
    const wrong = decodeConfiguration(withHeader(at(path, bad)));
    assert.deepEqual(
      wrong.problems.map((problem) => formatPath(problem.path)),
      [formatPath(path)],
    );
    assert.deepEqual(decodeConfiguration(withHeader(at(path, null))).problems, []);
  });
}

test("the table has all 125 fields of the API", () => {
  assert.equal(Object.keys(kubeletFields).length, 125);
});

const rejected: [raw: unknown, ...shown: string[]][] = [
  [{ ...header, porrt: 1 }, "porrt: is not a known field"],
  [{ ...header, Port: 1 }, "Port: is not a known field, did you mean port?"],
  [{ ...header, __proto_: {} }, "__proto_: is not a known field"],
  [{ ...header, constructor: {} }, "constructor: is not a known field"],
  [{ kind }, 'apiVersion: is missing, must be "kubelet.config.k8s.io/v1beta1"'],
  [
    { apiVersion: "v1", kind: "Pod" },
    'apiVersion: must be "kubelet.config.k8s.io/v1beta1", not the string "v1"',
    'kind: must be "KubeletConfiguration", not the string "Pod"',
  ],
  [[], "must be an object, not a list"],
  [null, "must be an object, not nothing"],
  [{ ...header, port: 2 ** 31 }, "port: 2147483648 is out of range"],
  [{ ...header, podPidsLimit: 1e30 }, "podPidsLimit: 1e+30 is out of range"],
  [{ ...header, logging: { verbosity: -1 } }, "logging.verbosity: -1 is out of range"],
  [{ ...header, syncFrequency: 5 }, 'syncFrequency: must be a duration such as "1m30s", not the number 5'],
  [{ ...header, clusterDNS: ["10.0.0.1", 7] }, "clusterDNS[1]: must be a string, not the number 7"],
  [
    { ...header, reservedMemory: [{ numaNode: 0, limits: { memory: "1QQ" } }] },
    'reservedMemory[0].limits.memory: "1QQ" is not a quantity',
  ],
  [
    { ...header, port: "x", maxPods: true },
    'port: must be a whole number, not the string "x"',
    "maxPods: must be a whole number, not the boolean true",
  ],
  [
    { ...header, featureGates: { A: "true" } },
    'featureGates.A: must be true or false, not the string "true"',
  ],
];
for (const [raw, ...shown] of rejected) {
  test(`rejected: ${shown.join("; ")}`, () => {
    const lines = decodeConfiguration(raw).problems.map((problem: Problem) => formatConfigProblem(problem));
    assert.deepEqual(lines, shown);
  });
}

test("the log flush period may be a number of nanoseconds", () => {
  const { config } = decodeConfiguration({ ...header, logging: { flushFrequency: 2_000_000_000 } });
  assert.equal(config.logging?.flushFrequency, 2000);
});
