import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AddressInfo, nodeIpProblem, planAddresses } from "./addresses.ts";
import type { NodeAddress } from "./node-types.ts";

const host: AddressInfo = {
  hostname: "worker",
  nodeName: "worker",
  nodeIps: [],
  externalCloudProvider: false,
  hostIps: ["127.0.0.1", "192.0.2.10", "192.0.2.11", "2001:db8::10"],
  resolvedIps: [],
  defaultRouteIps: { ipv4: "192.0.2.10", ipv6: "2001:db8::10" },
};
const name: NodeAddress = { type: "Hostname", address: "worker" };
const internal = (address: string): NodeAddress => ({ type: "InternalIP", address });

const plans: [string, Partial<AddressInfo>, NodeAddress[], string?][] = [
  ["the default route decides", {}, [internal("192.0.2.10"), name]],
  [":: prefers IPv6", { nodeIps: ["::"] }, [internal("2001:db8::10"), name]],
  ["0.0.0.0 prefers IPv4", { nodeIps: ["0.0.0.0"] }, [internal("192.0.2.10"), name]],
  [
    "another family is better than none",
    { defaultRouteIps: { ipv6: "2001:db8::10" } },
    [internal("2001:db8::10"), name],
  ],
  [
    "addresses that the name resolves to come first",
    { resolvedIps: ["192.0.2.11"] },
    [internal("192.0.2.11"), name],
  ],
  [
    "the preferred family is chosen among those that the name resolves to",
    { resolvedIps: ["2001:db8::10", "192.0.2.11"] },
    [internal("192.0.2.11"), name],
  ],
  [
    "addresses that the name resolves to are ignored if this host does not have them",
    { resolvedIps: ["198.51.100.1"] },
    [internal("192.0.2.10"), name],
  ],
  [
    "a host name that is an address is the address",
    { hostname: "203.0.113.5" },
    [internal("203.0.113.5"), { type: "Hostname", address: "203.0.113.5" }],
  ],
  ["--node-ip sets the address", { nodeIps: ["192.0.2.11"] }, [internal("192.0.2.11"), name]],
  [
    "--node-ip may set one of each family, in this order",
    { nodeIps: ["2001:DB8:0::10", "192.0.2.10"] },
    [internal("2001:db8::10"), internal("192.0.2.10"), name],
  ],
  ["a cloud provider determines the addresses itself", { externalCloudProvider: true }, [name]],
  [
    "a cloud provider gets the configured addresses",
    { externalCloudProvider: true, nodeIps: ["192.0.2.10", "2001:db8::10"] },
    [internal("192.0.2.10"), internal("2001:db8::10"), name],
    "192.0.2.10,2001:db8::10",
  ],
  [
    "the default route bootstraps the node of a cloud provider if only a family is configured",
    { externalCloudProvider: true, nodeIps: ["::"] },
    [internal("2001:db8::10"), name],
  ],
];

describe("addresses of a node", () => {
  // parity: flag node-ip
  for (const [rule, info, addresses, providedIp] of plans)
    it(rule, () =>
      assert.deepEqual(planAddresses({ ...host, ...info }, []), { ok: true, addresses, providedIp }),
    );

  it("addresses that a cloud provider has set are kept", () => {
    const existing: NodeAddress[] = [{ type: "ExternalIP", address: "203.0.113.9" }];
    const plan = planAddresses({ ...host, externalCloudProvider: true, nodeIps: ["192.0.2.10"] }, existing);
    assert.deepEqual(plan, { ok: true, addresses: existing, providedIp: "192.0.2.10" });
    assert.deepEqual(planAddresses(host, existing), {
      ok: true,
      addresses: [internal("192.0.2.10"), name],
      providedIp: undefined,
    });
  });

  it("a node without any address reports the reason", () => {
    const plan = planAddresses({ ...host, defaultRouteIps: {} }, []);
    assert.deepEqual(plan, { ok: false, reason: "can't get ip address of node worker" });
  });

  it("an invalid --node-ip is named", () => {
    const plan = planAddresses({ ...host, nodeIps: ["192.0.2.10", "fe80::1"] }, []);
    const reason = "failed to validate secondaryNodeIP: nodeIP can't be a link-local unicast address";
    assert.deepEqual(plan, { ok: false, reason });
  });
});

const problems: [string, string | undefined][] = [
  ["192.0.2.10", undefined],
  ["2001:db8:0:0::10", undefined],
  ["nonsense", "nodeIP must be a valid IP address"],
  ["127.0.0.1", "nodeIP can't be loopback address"],
  ["::1", "nodeIP can't be loopback address"],
  ["224.0.0.1", "nodeIP can't be a multicast address"],
  ["ff02::1", "nodeIP can't be a multicast address"],
  ["169.254.1.1", "nodeIP can't be a link-local unicast address"],
  ["0.0.0.0", "nodeIP can't be an all zeros address"],
  ["198.51.100.1", `node IP: "198.51.100.1" not found in the host's network interfaces`],
];

describe("an address that cannot be a node's", () => {
  for (const [ip, problem] of problems) it(ip, () => assert.equal(nodeIpProblem(ip, host.hostIps), problem));
});
