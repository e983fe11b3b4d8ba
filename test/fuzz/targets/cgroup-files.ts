import assert from "node:assert/strict";
import { parseFlatKeyed } from "../../../src/lib/host/cgroups/interface-files.ts";
import { readMachineMemory } from "../../../src/lib/host/cgroups/machine-memory.ts";
import { parseOwnCgroup } from "../../../src/lib/host/cgroups/own-cgroup.ts";
import { parsePressure } from "../../../src/lib/host/cgroups/pressure.ts";
import { limitOf } from "../../../src/lib/host/cgroups/usage.ts";
import { V2UsageReader } from "../../../src/lib/host/cgroups/usage-v2.ts";
import { partsOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const names = [
  "cpu.stat",
  "cpu.weight",
  "cpu.max",
  "memory.current",
  "memory.stat",
  "memory.max",
  "memory.events",
  "pids.current",
  "io.stat",
  "cpu.pressure",
];

/** The interface files of a cgroup, in the order of `names`, with lines "---" between them. */
export default {
  seeds: [
    "usage_usec 5\nuser_usec 3\nnr_periods 1\n---\n100\n---\nmax 100000\n---\n4096\n---\nanon 1\nfile 2\ninactive_file 3\n---\nmax\n---\noom_kill 1\n---\n7\n---\n8:0 rbytes=1 wbytes=2 rios=3 wios=4\n---\nsome avg10=0.10 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1",
    "0::/kubepods.slice/a\n---\n12:cpu,cpuacct:/a\n5:memory:/a",
    "MemTotal:       24 kB\nSwapTotal: 1 kB",
  ],
  dictionary: [
    "max",
    "18446744073709551615",
    "-1",
    "NaN",
    "Infinity",
    "0x10",
    "1e3",
    "memory.",
    "usage_usec ",
  ],
  maxLength: 700,
  async run(input) {
    const parts = partsOf(input);
    const files = {
      read: async (file: string) => parts[names.indexOf(file.split("/").at(-1) ?? "")] ?? "",
      dirs: async () => [],
    };
    const usage = await new V2UsageReader("/sys/fs/cgroup", files).read("/a", "all");
    for (const number of numbersIn(usage)) assert.ok(!Number.isNaN(number), "not a number");
    const [text = ""] = parts;
    for (const number of parseFlatKeyed(text).values()) assert.ok(!Number.isNaN(number));
    for (const number of numbersIn(parsePressure(text))) assert.ok(!Number.isNaN(number));
    const limit = limitOf(text);
    assert.ok(limit === undefined || (Number.isFinite(limit) && limit >= 0));
    for (const version of [1, 2] as const) assert.notEqual(parseOwnCgroup(version, text), "/");
    for (const number of numbersIn(await readMachineMemory({ read: async () => text }, "m")))
      assert.ok(!Number.isNaN(number));
  },
} satisfies FuzzTarget;

function numbersIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}
