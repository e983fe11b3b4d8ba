import assert from "node:assert/strict";
import { parseDiskstats } from "../../../src/lib/host/block-devices.ts";
import { parseNetDev } from "../../../src/lib/host/network-usage.ts";
import { countRanges, pageSizeOf } from "../../../src/lib/host/node-info.ts";
import { limitOf } from "../../../src/lib/host/process-usage.ts";
import { osImageOf } from "../../../src/lib/host/system-identity.ts";
import { parseRoutes } from "../../../src/single-node/subnet.ts";
import type { FuzzTarget } from "../target.ts";

/** Files of /proc and /sys, and os-release. Users choose the names of interfaces and devices. */
export default {
  seeds: [
    "Inter-|   Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
    "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
    "Max open files            1024                 4096                 files\nMax address space         unlimited            unlimited            bytes",
    'NAME="x"\nPRETTY_NAME="Debian GNU/Linux 12"\n',
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\n",
    "0-3,8",
  ],
  dictionary: ["PRETTY_NAME=", "unlimited", ":", "-", "\t", "00000000"],
  maxLength: 500,
  run(input) {
    const text = input.toString("utf8");
    for (const counters of parseNetDev(text))
      for (const value of Object.values(counters)) assert.ok(!Number.isNaN(value));
    for (const [id, { path }] of parseDiskstats(text))
      assert.ok(id.includes(":") && path.startsWith("/dev/"));
    limitOf(text, "Max open files");
    assert.ok(!osImageOf(text).includes("\n"));
    assert.ok(parseRoutes(text).length <= text.split("\n").length);
    countRanges(text);
    assert.ok(pageSizeOf(input) >= 0n);
  },
} satisfies FuzzTarget;
