import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { flagValues } from "./flag-values.ts";
import { flagTable } from "./table.ts";

describe("flag values", () => {
  it("contain all flags, with their defaults", () => {
    const all = flagValues([]);
    assert.deepEqual(new Set(Object.keys(all)), new Set(flagTable.keys()));
    for (const [name, value] of Object.entries(all)) assert.equal(typeof value, "string", name);
  });

  const rows: [string[], string, string][] = [
    [[], "root-dir", "/var/lib/kubelet"],
    [[], "max-pods", "110"],
    [[], "sync-frequency", "1m0s"],
    [[], "fail-swap-on", "true"],
    [[], "version", "false"],
    [[], "help", "false"],
    [[], "cluster-dns", "[]"],
    [[], "enforce-node-allocatable", "[pods]"],
    [[], "feature-gates", ""],
    [["-v=4"], "v", "4"],
    [["--sync_frequency=90s"], "sync-frequency", "1m30s"],
    [["--cluster-dns=10.0.0.10,10.0.0.11"], "cluster-dns", "[10.0.0.10,10.0.0.11]"],
    [["--node-labels=b=2,a=1"], "node-labels", "a=1,b=2"],
    [
      ["--feature-gates=NodeLogQuery=true,AllAlpha=false"],
      "feature-gates",
      "AllAlpha=false,NodeLogQuery=true",
    ],
    [
      ["--eviction-hard=memory.available<1Gi,nodefs.available<5%"],
      "eviction-hard",
      "memory.available<1Gi,nodefs.available<5%",
    ],
    [
      ["--register-with-taints=a=b:NoSchedule,c:NoExecute"],
      "register-with-taints",
      "a=b:NoSchedule,c=:NoExecute",
    ],
    [
      ["--reserved-memory=0:memory=1Gi,hugepages-2Mi=2Mi"],
      "reserved-memory",
      "0:hugepages-2Mi=2Mi,memory=1Gi",
    ],
    [["--vmodule=a=3"], "vmodule", "a=3"],
    [["--manifest-url-header=Authorization:secret"], "manifest-url-header", "Authorization:<masked>"],
  ];
  for (const [args, name, value] of rows)
    it(`--${name} is ${value === "" ? "empty" : value} ${args.length > 0 ? `after ${args[0]}` : "by default"}`, () => {
      assert.equal(flagValues(args)[name], value);
    });
});
