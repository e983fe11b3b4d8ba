import assert from "node:assert/strict";
import { test } from "node:test";
import { hasSharedChains, planRuleRemoval } from "./cni-rules.ts";

const id = "0895d7f69c2979d169425268b5154c36ac5022aca08c7019c9a47bddadc86584";
const comment = (network: string) => `-m comment --comment "name: \\"${network}\\" id: \\"${id}\\""`;
const masquerade = (network: string, chain: string) => `:${chain} - [0:0]
-A POSTROUTING -s 10.110.193.2/32 ${comment(network)} -j ${chain}
-A ${chain} -d 10.110.193.0/24 ${comment(network)} -j ACCEPT
-A ${chain} ! -d 224.0.0.0/4 ${comment(network)} -j MASQUERADE
`;
const portmap = `:CNI-HOSTPORT-DNAT - [0:0]
:CNI-HOSTPORT-MASQ - [0:0]
:CNI-HOSTPORT-SETMARK - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A OUTPUT -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
-A CNI-HOSTPORT-SETMARK -m comment --comment "CNI portfwd masquerade mark" -j MARK --set-xmark 0x2000/0x2000
`;
const hostPort = (network: string, chain: string) => `:${chain} - [0:0]
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"${network}\\" id: \\"${id}\\"" -m multiport --dports 8080 -j ${chain}
-A ${chain} -s 10.110.193.0/24 -p tcp -m tcp --dport 8080 -j CNI-HOSTPORT-SETMARK
-A ${chain} -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.110.193.2:80
`;
const table = (...parts: string[]) => `*nat\n:PREROUTING ACCEPT [0:0]\n${parts.join("")}COMMIT\n`;

const ours = "CNI-eb12cbf060b38053359cb4fb";
const theirs = "CNI-aaaabbbbccccddddeeeeffff";

test("nothing of ours means nothing to do", () => {
  assert.deepEqual(
    planRuleRemoval(table(masquerade("podman", theirs), portmap, hostPort("podman", theirs)), "n", true),
    [],
  );
});

test("rules of the network go before its chains, with their comment unquoted", () => {
  assert.deepEqual(planRuleRemoval(table(masquerade("n", ours)), "n", false), [
    [
      "-D",
      "POSTROUTING",
      "-s",
      "10.110.193.2/32",
      "-m",
      "comment",
      "--comment",
      `name: "n" id: "${id}"`,
      "-j",
      ours,
    ],
    ["-F", ours],
    ["-X", ours],
  ]);
});

test("a network whose name only begins like ours is not ours", () => {
  assert.deepEqual(planRuleRemoval(table(masquerade("n-2", theirs)), "n", false), []);
});

test("host ports go, and the shared chains with them when nobody had them before", () => {
  const dn = "CNI-DN-1234567890abcdef12345";
  const changes = planRuleRemoval(table(portmap, hostPort("n", dn)), "n", true);
  assert.deepEqual(
    changes.map((change) => change.slice(0, 2).join(" ")),
    [
      "-D CNI-HOSTPORT-DNAT",
      `-F ${dn}`,
      `-X ${dn}`,
      "-D PREROUTING",
      "-D OUTPUT",
      "-D POSTROUTING",
      "-F CNI-HOSTPORT-SETMARK",
      "-F CNI-HOSTPORT-MASQ",
      "-X CNI-HOSTPORT-DNAT",
      "-X CNI-HOSTPORT-SETMARK",
      "-X CNI-HOSTPORT-MASQ",
    ],
  );
});

const keepShared: [string, string, boolean][] = [
  ["were there before", table(portmap, hostPort("n", "CNI-DN-1234567890abcdef12345")), false],
  [
    "are in use by another network",
    table(
      portmap,
      hostPort("n", "CNI-DN-1234567890abcdef12345"),
      hostPort("podman", "CNI-DN-ffffffffffffffffffff"),
    ),
    true,
  ],
];
for (const [when, nat, removeShared] of keepShared) {
  test(`shared chains stay when they ${when}`, () => {
    const changes = planRuleRemoval(nat, "n", removeShared);
    assert.ok(changes.length > 0);
    assert.ok(!changes.some(([verb, chain]) => verb === "-X" && chain?.startsWith("CNI-HOSTPORT")));
  });
}

test("shared chains are noticed", () => {
  assert.equal(hasSharedChains(table(portmap)), true);
  assert.equal(hasSharedChains(table(masquerade("n", ours))), false);
});
