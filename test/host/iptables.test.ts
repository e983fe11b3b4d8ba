import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import { type IptablesVariant, NetworkNamespace } from "./network-namespace.ts";
import { type FilterState, filterCommands, readFilter } from "./packet-filter.ts";

const shortMinute = new URL("./short-minute.ts", import.meta.url).pathname;
const withChains = ["--make-iptables-util-chains=true", "-v=2"];
const tables = ["mangle", "nat", "filter"];

/** A rule of another program: the agent's rules come before it, and the agent leaves it alone. */
const foreignRule = ["-A", "INPUT", "-i", "lo", "-j", "ACCEPT"];
const foreign: FilterState = {
  "iptables-save": ["filter -A INPUT -i lo -j ACCEPT"],
  "ip6tables-save": ["filter -A INPUT -i lo -j ACCEPT"],
  "nft list ruleset": ["ip filter INPUT accept", "ip6 filter INPUT accept"],
};

/** The chains and rules of the reference kubelet, as kube-proxy and other components look for them. IPv6 needs no firewall. */
const savedChains = {
  "iptables-save": [
    "filter :KUBE-FIREWALL",
    "filter :KUBE-KUBELET-CANARY",
    "mangle :KUBE-IPTABLES-HINT",
    "mangle :KUBE-KUBELET-CANARY",
    "nat :KUBE-KUBELET-CANARY",
  ],
  "ip6tables-save": [
    "filter :KUBE-KUBELET-CANARY",
    "mangle :KUBE-IPTABLES-HINT",
    "mangle :KUBE-KUBELET-CANARY",
    "nat :KUBE-KUBELET-CANARY",
  ],
};
const [toInput, toOutput, dropped] = [
  "filter -A INPUT -j KUBE-FIREWALL",
  "filter -A OUTPUT -j KUBE-FIREWALL",
  'filter -A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" ' +
    "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
];
const rulesetChains = [
  ...["ip filter KUBE-FIREWALL", "ip filter KUBE-KUBELET-CANARY"],
  ...["ip mangle KUBE-IPTABLES-HINT", "ip mangle KUBE-KUBELET-CANARY", "ip nat KUBE-KUBELET-CANARY"],
  ...["ip6 filter KUBE-KUBELET-CANARY"],
  ...["ip6 mangle KUBE-IPTABLES-HINT", "ip6 mangle KUBE-KUBELET-CANARY", "ip6 nat KUBE-KUBELET-CANARY"],
];
const withForeign: FilterState = {
  "iptables-save": [
    ...savedChains["iptables-save"],
    toInput,
    "filter -A INPUT -i lo -j ACCEPT",
    toOutput,
    dropped,
  ],
  "ip6tables-save": [...savedChains["ip6tables-save"], "filter -A INPUT -i lo -j ACCEPT"],
  "nft list ruleset": [
    ...rulesetChains,
    "ip filter INPUT jump KUBE-FIREWALL",
    "ip filter INPUT accept",
    "ip filter KUBE-FIREWALL drop",
    "ip filter OUTPUT jump KUBE-FIREWALL",
    "ip6 filter INPUT accept",
  ],
};
const alone: FilterState = {
  "iptables-save": [...savedChains["iptables-save"], toInput, toOutput, dropped],
  "ip6tables-save": savedChains["ip6tables-save"],
  "nft list ruleset": [
    ...rulesetChains,
    "ip filter INPUT jump KUBE-FIREWALL",
    "ip filter KUBE-FIREWALL drop",
    "ip filter OUTPUT jump KUBE-FIREWALL",
  ],
};

/** Each row is read with each command. A flush removes the rule of the other program, too. */
const states = [
  ["before the agent", "the rule of another program only", foreign],
  ["with the agent", "its chains and rules before that of the other program", withForeign],
  ["after a flush", "its chains and rules again", alone],
  ["after the agent", "its chains and rules", alone],
  ["with the next agent", "each chain and rule once", alone],
] as const;

describe("iptables", { concurrency: true }, () => {
  // parity: field makeIPTablesUtilChains
  for (const variant of ["nft", "legacy"] as const)
    describe(`the utility chains of iptables-${variant}`, { skip: unavailable(variant) }, () => {
      const namespace = new NetworkNamespace();
      const path = namespace.pathOf(variant);
      const recorded = new Map<string, FilterState>();
      let agent: StandaloneAgent;
      let log = "";

      const start = () =>
        agent.start(withChains, kubeletProgram, [
          ...namespace.launcher(path),
          ...[process.execPath, `--import=${shortMinute}`],
        ]);
      const record = (state: (typeof states)[number][0]) => recorded.set(state, readFilter(namespace, path));
      const hasSaved = (expected: FilterState) =>
        waitFor(() => {
          const actual = readFilter(namespace, path);
          for (const command of ["iptables-save", "ip6tables-save"] as const)
            assert.deepEqual(actual[command], expected[command], command);
        }, 120_000);

      before(async () => {
        agent = await StandaloneAgent.create();
        for (const program of ["iptables", "ip6tables"]) namespace.run(path, [program, ...foreignRule]);
        record("before the agent");
        start();
        await hasSaved(withForeign);
        record("with the agent");
        flush(namespace, path);
        await hasSaved(alone);
        record("after a flush");
        await agent.end("SIGTERM");
        record("after the agent");
        start();
        await agent.ready();
        await waitFor(() =>
          assert.equal(agent.log().split('"Initialized iptables rules."').length - 1, 4, agent.log()),
        );
        record("with the next agent");
        log = agent.log();
      });
      after(async () => {
        await agent.destroy();
        namespace.remove();
      });

      for (const [state, content, expected] of states)
        for (const command of filterCommands)
          it(`${state}, ${command} shows ${content}`, () => {
            // Rules of the legacy variant are separate from the rules of nftables.
            const isHidden = variant === "legacy" && command === "nft list ruleset";
            assert.deepEqual(recorded.get(state)?.[command], isHidden ? [] : expected[command]);
          });
      it("a flush is logged as one reload of each IP family", () => {
        assert.equal(log.split('"Reloading after iptables flush"').length - 1, 2, log);
      });
    });

  describe("without iptables", { skip: process.getuid?.() === 0 ? false : "needs root" }, () => {
    it("the agent runs, and one line reports it", async (t) => {
      const namespace = new NetworkNamespace();
      t.after(() => namespace.remove());
      const agent = await StandaloneAgent.create();
      t.after(() => agent.destroy());
      agent.start(withChains, kubeletProgram, [
        ...namespace.launcher(namespace.emptyPath()),
        process.execPath,
      ]);
      await agent.ready();
      await waitFor(() => assert.match(agent.log(), /No iptables support on this system/));
      const lines = agent.log().split("\n");
      assert.equal(lines.filter((line) => /iptables support/.test(line)).length, 1, agent.log());
    });
  });
});

/** As a firewall that is reloaded: all tables are empty, and have no chains of others. */
function flush(namespace: NetworkNamespace, path: string): void {
  const empty = tables.map((table) => `*${table}\nCOMMIT\n`).join("");
  for (const program of ["iptables", "ip6tables"]) {
    const { status, output } = namespace.run(path, [`${program}-restore`, "-w", "60"], empty);
    assert.equal(status, 0, output);
  }
}

/** As root, only the legacy variant may be missing: newer kernels are built without it. */
function unavailable(variant: IptablesVariant): string | false {
  if (process.getuid?.() !== 0) return "needs root";
  if (variant === "nft") return false;
  const namespace = new NetworkNamespace();
  try {
    const path = namespace.pathOf(variant);
    for (const program of ["iptables", "ip6tables"]) {
      const { status, output } = namespace.run(path, [program, "-t", "nat", "-S"]);
      if (status !== 0) return `${program}-${variant}: ${output.trim()}`;
    }
    return false;
  } finally {
    namespace.remove();
  }
}
