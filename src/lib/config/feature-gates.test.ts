import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gateNeeds, gateTable } from "./feature-gate-table.ts";
import { FeatureGates, type FeatureName, settableGates } from "./feature-gates.ts";
import { formatConfigProblem } from "./problems.ts";

const enabled: [settings: Record<string, boolean>, name: FeatureName, want: boolean][] = [
  [{}, "NodeSwap", true],
  [{}, "MemoryQoS", false],
  [{}, "GracefulNodeShutdown", true],
  [{ MemoryQoS: true }, "MemoryQoS", true],
  [{ GracefulNodeShutdown: false }, "GracefulNodeShutdown", false],
  [{ AllAlpha: true }, "MemoryQoS", true],
  [{ AllAlpha: true, MemoryQoS: false }, "MemoryQoS", false],
  [{ AllAlpha: true }, "GracefulNodeShutdown", true],
  [{ AllBeta: false }, "GracefulNodeShutdown", false],
  [{ AllBeta: false, GracefulNodeShutdown: true }, "GracefulNodeShutdown", true],
  [{ AllBeta: false }, "NodeSwap", true],
  [{ AllBeta: false }, "AllAlpha", false],
  [{ AllAlpha: false }, "MemoryQoS", false],
  [{ AllBeta: true }, "PodCertificateRequest", true],
  [{ AllBeta: true }, "MemoryQoS", false],
];
// parity: gate AllAlpha=true, gate AllAlpha=false, gate AllBeta=true, gate AllBeta=false
for (const [settings, name, want] of enabled) {
  test(`with ${JSON.stringify(settings)}, ${name} is ${want}`, () => {
    assert.equal(new FeatureGates(settings).enabled(name), want);
  });
}

const rejected: [settings: Record<string, boolean>, ...shown: string[]][] = [
  [{}],
  [{ NodeSwap: true }],
  [
    { Nope: true, toString: true },
    "featureGates.Nope: is not a known feature gate",
    "featureGates.toString: is not a known feature gate",
  ],
  [{ NodeSwap: false }, "featureGates.NodeSwap: is locked to true"],
  [{ nodeswap: true }, "featureGates.nodeswap: is not a known feature gate"],
  [
    { GracefulNodeShutdown: false, WindowsGracefulNodeShutdown: false },
    "featureGates.GracefulNodeShutdownBasedOnPodPriority: is on but needs GracefulNodeShutdown, which is off",
  ],
];
for (const [settings, ...shown] of rejected) {
  test(`gates ${JSON.stringify(settings)} have ${shown.length} problems`, () => {
    const lines = new FeatureGates(settings).problems().map((problem) => formatConfigProblem(problem));
    assert.deepEqual(lines, shown);
  });
}

test("every gate that another needs is on whenever that one is on by default", () => {
  for (const [name, needed] of Object.entries(gateNeeds)) {
    for (const other of needed) {
      assert.ok(
        gateTable[other].default || !gateTable[name as FeatureName].default,
        `${name} needs ${other}`,
      );
    }
  }
});

test("the table knows 242 gates, in alphabetical order, those of alpha stage off", () => {
  const names = Object.keys(gateTable);
  assert.equal(names.length, 242);
  assert.deepEqual(
    names,
    names.toSorted((a, b) => (a < b ? -1 : 1)),
  );
  for (const [name, spec] of Object.entries(gateTable))
    if (spec.stage === "ALPHA") assert.equal(spec.default, false, name);
});

const recorded = readFileSync(
  new URL("../../../test/fixtures/config/feature-gates.tsv", import.meta.url),
  "utf8",
)
  .trim()
  .split("\n")
  .slice(1)
  .map((line) => line.split("\t"));
for (const [name, stage, byDefault, locked] of recorded) {
  test(`${name} has the stage, default and lock of v1.36`, () => {
    const expected = { stage: stage || "GA", default: byDefault === "true", locked: locked === "true" };
    assert.deepEqual(gateTable[name as FeatureName], expected);
  });
}

test("setting a GA or deprecated gate logs a warning, others do not", () => {
  const warnings = new FeatureGates({
    NodeSwap: true,
    MemoryQoS: true,
    AllowDNSOnlyNodeCSR: false,
  }).warnings();
  assert.deepEqual(
    warnings.map((line) => line.split("=")[0]),
    ["feature gate NodeSwap", "feature gate AllowDNSOnlyNodeCSR"],
  );
});

test("the help lists the gates that can be set", () => {
  const lines = settableGates();
  assert.ok(lines.includes("MemoryQoS=true|false (ALPHA - default=false)"));
  assert.ok(!lines.some((line) => line.startsWith("NodeSwap=")));
});
