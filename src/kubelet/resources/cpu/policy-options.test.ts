import assert from "node:assert/strict";
import { test } from "node:test";
import { machine } from "./machine-fixtures.ts";
import { checkOptions, staticPolicyOptions } from "./policy-options.ts";

const gates = (...enabled: string[]) => ({ enabled: (name: string) => enabled.includes(name) });
const alpha = "CPUManagerPolicyAlphaOptions";
const beta = "CPUManagerPolicyBetaOptions";
const allGates = gates(alpha, beta);

// parity: gate CPUManagerPolicyAlphaOptions=true, gate CPUManagerPolicyAlphaOptions=false, gate CPUManagerPolicyBetaOptions=true, gate CPUManagerPolicyBetaOptions=false, gate CPUManagerPolicyOptions=true as staticPolicyOptions
test("an option needs the gate of its level", () => {
  const rows: [string, string | undefined][] = [
    ["full-pcpus-only", undefined],
    ["strict-cpu-reservation", undefined],
    ["prefer-align-cpus-by-uncorecache", undefined],
    ["distribute-cpus-across-numa", beta],
    ["align-by-socket", alpha],
    ["distribute-cpus-across-cores", alpha],
  ];
  for (const [option, gate] of rows) {
    const set = { [option]: "true" };
    assert.ok(Object.values(staticPolicyOptions(set, gate ? gates(gate) : gates())).includes(true), option);
    if (gate)
      assert.throws(() => staticPolicyOptions(set, gates(gate === alpha ? beta : alpha)), {
        message: `new static policy error: CPU Manager Policy ${gate === alpha ? "Alpha" : "Beta"}-level Options not enabled, but option "${option}" provided`,
      });
  }
});

test("a value is a boolean as the reference kubelet reads it", () => {
  for (const [text, expected] of [
    ["1", true],
    ["T", true],
    ["False", false],
    ["0", false],
  ] as const)
    assert.equal(staticPolicyOptions({ "full-pcpus-only": text }, allGates).fullPcpusOnly, expected);
  for (const text of ["", "yes", "tRUE", "toString"])
    assert.throws(
      () => staticPolicyOptions({ "full-pcpus-only": text }, allGates),
      /bad value for option "full-pcpus-only"/,
    );
});

test("an unknown option is rejected", () => {
  for (const name of ["full-pcpus", "toString", ""])
    assert.throws(() => staticPolicyOptions({ [name]: "true" }, allGates), {
      message: `new static policy error: unknown CPU Manager Policy option: "${name}"`,
    });
});

test("options that exclude each other are rejected", () => {
  const pairs = [
    ["full-pcpus-only", "distribute-cpus-across-cores"],
    ["distribute-cpus-across-numa", "distribute-cpus-across-cores"],
    ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"],
    ["prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"],
  ] as const;
  for (const [a, b] of pairs) {
    assert.throws(() => staticPolicyOptions({ [a]: "true", [b]: "true" }, allGates), {
      message: `new static policy error: static policy options ${a} and ${b} can not be used at the same time`,
    });
    staticPolicyOptions({ [a]: "true", [b]: "false" }, allGates);
  }
});

test("alignment by socket needs a machine with at least as many NUMA nodes, and no single-numa-node policy", () => {
  const options = staticPolicyOptions({ "align-by-socket": "true" }, allGates);
  checkOptions(options, machine("xeon-2x28-snc"), "restricted");
  assert.throws(() => checkOptions(options, machine("xeon-2x28-snc"), "single-numa-node"), /align-by-socket/);
  assert.throws(() => checkOptions(options, machine("qemu-8"), "none"), /number of sockets are more/);
  checkOptions(staticPolicyOptions({}, allGates), machine("qemu-8"), "single-numa-node");
});
