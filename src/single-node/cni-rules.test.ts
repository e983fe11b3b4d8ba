import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { hasSharedChains, planRuleRemoval, restoreScript } from "./cni-rules.ts";

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

test("a table without rules of the network needs no changes", () => {
  assert.deepEqual(
    planRuleRemoval(table(masquerade("podman", theirs), portmap, hostPort("podman", theirs)), "n", true),
    { own: [], shared: [] },
  );
});

test("rules of the network are removed before its chains, with their comment unquoted", () => {
  assert.deepEqual(planRuleRemoval(table(masquerade("n", ours)), "n", false).own, [
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

test("a network whose name has ours as a prefix is not touched", () => {
  assert.deepEqual(planRuleRemoval(table(masquerade("n-2", theirs)), "n", false).own, []);
});

test("host ports are removed, and the shared chains with them if they did not exist before", () => {
  const dn = "CNI-DN-1234567890abcdef12345";
  const { own, shared } = planRuleRemoval(table(portmap, hostPort("n", dn)), "n", true);
  const heads = (changes: readonly (readonly string[])[]) =>
    changes.map((change) => change.slice(0, 2).join(" "));
  assert.deepEqual(heads(own), ["-D CNI-HOSTPORT-DNAT", `-F ${dn}`, `-X ${dn}`]);
  assert.deepEqual(heads(shared), [
    "-D PREROUTING",
    "-D OUTPUT",
    "-D POSTROUTING",
    "-F CNI-HOSTPORT-SETMARK",
    "-F CNI-HOSTPORT-MASQ",
    "-X CNI-HOSTPORT-DNAT",
    "-X CNI-HOSTPORT-SETMARK",
    "-X CNI-HOSTPORT-MASQ",
  ]);
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
  test(`shared chains are kept when they ${when}`, () => {
    const { own, shared } = planRuleRemoval(nat, "n", removeShared);
    assert.ok(own.length > 0);
    assert.deepEqual(shared, []);
  });
}

test("shared chains are detected", () => {
  assert.equal(hasSharedChains(table(portmap)), true);
  assert.equal(hasSharedChains(table(masquerade("n", ours))), false);
});

test("in a script, arguments with spaces and quotes are quoted", () => {
  assert.equal(
    restoreScript([
      ["-D", "A", "--comment", 'a "b"'],
      ["-X", "B"],
    ]),
    '*nat\n-D A --comment "a \\"b\\""\n-X B\nCOMMIT\n',
  );
});

/** Runs a real iptables in its own network namespace. Returns the table after the script, or why iptables cannot be run. */
function natAfter(nat: string, script: string): { table: string } | { unavailable: string } {
  if (process.getuid?.() !== 0) return { unavailable: "needs root" };
  const commands =
    'printf "%s" "$1" | iptables-restore && { printf "%s" "$2" | iptables-restore --noflush || true; iptables-save -t nat; }';
  const done = spawnSync("unshare", ["--net", "sh", "-c", commands, "sh", nat, script], {
    encoding: "utf8",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
  });
  return done.status === 0 ? { table: done.stdout } : { unavailable: `no iptables here: ${done.stderr}` };
}

test("the shared chains are removed atomically, or kept if another node uses them in the meantime", (t) => {
  const mine = "CNI-DN-1234567890abcdef12345";
  const { shared } = planRuleRemoval(table(portmap, hostPort("n", mine)), "n", true);
  const script = restoreScript(shared);
  const unused = natAfter(table(portmap), script);
  if ("unavailable" in unused) return t.skip(unused.unavailable);
  assert.equal(hasSharedChains(unused.table), false);
  assert.doesNotMatch(unused.table, /^-A/m);
  const used = natAfter(table(portmap, hostPort("other", "CNI-DN-ffffffffffffffffffff")), script);
  assert.ok("table" in used);
  for (const rule of portmap.split("\n").filter((line) => line.startsWith("-A")))
    assert.ok(used.table.includes(rule), `${rule} is gone`);
  assert.match(used.table, /^-A CNI-HOSTPORT-DNAT .*other/m);
});
