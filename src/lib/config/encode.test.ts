import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeConfiguration } from "./decode.ts";
import { withDefaults } from "./defaults.ts";
import { formatDuration } from "./duration.ts";
import { encodeConfiguration } from "./encode.ts";
import { FeatureGates } from "./feature-gates.ts";
import { apiVersion, kind, kubeletFields } from "./kubelet-configuration.ts";
import type { Fields, Kind } from "./schema.ts";
import { validateConfiguration } from "./validate/validate.ts";

const gates = new FeatureGates();

function arbitrary(type: Kind): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case "bool":
      return fc.boolean();
    case "int":
      return fc.integer(type.size === "uint32" ? { min: 0 } : {});
    case "float":
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case "string":
      return fc.string();
    case "duration":
      return fc.integer({ min: -(10 ** 9), max: 10 ** 9 }).map((ms) => formatDuration(ms / 1000));
    case "quantity":
      return fc
        .tuple(
          fc.integer({ min: 0, max: 5000 }),
          fc.constantFrom("", "m", "k", "Ki", "Mi", "Gi", "G", "e3", ".5"),
        )
        .map(([number, suffix]) => `${number}${suffix}`);
    case "list":
      return fc.array(arbitrary(type.of), { maxLength: 3 });
    case "map":
      return fc.dictionary(fc.string(), arbitrary(type.of), { maxKeys: 3 });
    case "object":
      return record(type.fields);
    default:
      return type satisfies never;
  }
}

function record(fields: Fields): fc.Arbitrary<Record<string, unknown>> {
  const arbitraries = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, arbitrary(field.type)]),
  );
  return fc.record(arbitraries, { requiredKeys: [] }) as fc.Arbitrary<Record<string, unknown>>;
}

const read = (raw: unknown) => {
  const { config, problems } = decodeConfiguration(raw);
  assert.deepEqual(problems, []);
  return withDefaults(config, gates);
};

test("encoding round-trips", () => {
  fc.assert(
    fc.property(record(kubeletFields), (fields) => {
      // An empty list is omitted when written and would then mean the default.
      const raw = { ...fields, enforceNodeAllocatable: ["pods"], apiVersion, kind };
      const once = encodeConfiguration(read(raw));
      const twice = encodeConfiguration(read(JSON.parse(JSON.stringify(once))));
      assert.equal(JSON.stringify(twice), JSON.stringify(once));
    }),
    { numRuns: 60 },
  );
});

test("any values of the right types can be validated", () => {
  fc.assert(
    fc.property(record(kubeletFields), (fields) => {
      const config = read({ ...fields, apiVersion, kind });
      for (const { path, message } of validateConfiguration(config, new FeatureGates(config.featureGates))) {
        assert.ok(path.length > 0 && message !== "");
      }
    }),
    { numRuns: 60 },
  );
});

test("maps are written in the order of their keys, durations and quantities in one spelling", () => {
  const shown = encodeConfiguration(
    read({
      apiVersion,
      kind,
      systemReserved: { memory: "1Gi", cpu: "1" },
      syncFrequency: "90s",
      reservedMemory: [{ numaNode: 0, limits: { memory: "1024Mi" } }],
    }),
  );
  assert.equal(JSON.stringify(shown.systemReserved), '{"cpu":"1","memory":"1Gi"}');
  assert.equal(shown.syncFrequency, "1m30s");
  assert.deepEqual(shown.reservedMemory, [{ numaNode: 0, limits: { memory: "1Gi" } }]);
});
