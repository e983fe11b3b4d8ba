import assert from "node:assert/strict";
import { parseNodeIps } from "../../../src/lib/config/flags/node-ip.ts";
import { parseFlags } from "../../../src/lib/config/flags/parse.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** A command line, one argument for each line. */
export default {
  seeds: [
    "--config=/etc/k.yaml\n--node-ip=10.0.0.1,::1\n-v=3",
    "--feature-gates=AllAlpha=true,X=false\n--eviction-hard=memory.available<5%\n--kube-reserved=cpu=1,memory=1Gi",
    "--register-with-taints=a=b:NoSchedule\n--node-labels=a=b,c/d=\n--v\n4\n--sync-frequency=1m",
  ],
  dictionary: [
    "--",
    "--system-reserved=",
    "--vmodule=",
    "--node-labels=",
    "--tls-cipher-suites=",
    "__proto__=1",
    "=",
    ",",
  ],
  maxLength: 500,
  run(input) {
    const args = input.toString("utf8").split("\n");
    const parsed = accepted(() => parseFlags(args));
    if (parsed)
      assert.deepEqual(
        accepted(() => parseFlags(args)),
        parsed,
      );
    const { ips } = parseNodeIps(args[0] ?? "");
    assert.ok(ips.length <= (args[0] ?? "").length);
  },
} satisfies FuzzTarget;
