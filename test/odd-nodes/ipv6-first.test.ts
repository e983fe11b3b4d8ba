import assert from "node:assert/strict";
import { hostname } from "node:os";
import { describe, test } from "node:test";
import { long } from "../long.ts";
import { isolatedReport, unavailable } from "../node/isolated-report.ts";
import { addresses, type Ipv6Report } from "./ipv6-first-host.ts";

const { ipv6, ipv4 } = addresses;

describe(long("a node whose first address is IPv6"), { skip: unavailable }, () => {
  test("publishes both addresses, IPv6 first, gives them to pods in the host network, and serves on both", async () => {
    const { node, hostNetwork, served } = await isolatedReport<Ipv6Report>(
      new URL("ipv6-first-host.ts", import.meta.url),
    );
    // The reference lists the addresses of --node-ip in their order, and the name last (NodeAddress in pkg/kubelet/nodestatus).
    assert.deepEqual(node.status.addresses, [
      { type: "InternalIP", address: ipv6 },
      { type: "InternalIP", address: ipv4 },
      { type: "Hostname", address: hostname() },
    ]);
    const ips = [{ ip: ipv6 }, { ip: ipv4 }];
    assert.deepEqual(hostNetwork, { hostIPs: ips, podIPs: ips });
    // A listener on 0.0.0.0 accepts IPv6, too: Go opens it with both families.
    assert.deepEqual(served, { "127.0.0.1": "ok", "::1": "ok", [ipv6]: "ok", [ipv4]: "ok" });
  });
});
