import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { mainFile } from "../e2e/cli-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { type IptablesVariant, NetworkNamespace } from "./network-namespace.ts";

const shortMinute = new URL("./short-minute.ts", import.meta.url).pathname;
const withChains = ["--make-iptables-util-chains=true", "-v=2"];
const tables = ["mangle", "nat", "filter"];

/** The lines of iptables-save, by table. Those of the firewall are as kube-proxy and other components look for them. */
const canaryOnly = { mangle: [":KUBE-KUBELET-CANARY"], nat: [":KUBE-KUBELET-CANARY"] };
const complete = {
  iptables: {
    ...canaryOnly,
    mangle: [":KUBE-IPTABLES-HINT", ":KUBE-KUBELET-CANARY"],
    filter: [
      ":KUBE-FIREWALL",
      ":KUBE-KUBELET-CANARY",
      "-A INPUT -j KUBE-FIREWALL",
      "-A OUTPUT -j KUBE-FIREWALL",
      '-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" ' +
        "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
    ],
  },
  ip6tables: {
    ...canaryOnly,
    mangle: [":KUBE-IPTABLES-HINT", ":KUBE-KUBELET-CANARY"],
    filter: [":KUBE-KUBELET-CANARY"],
  },
};
const none = {
  iptables: { mangle: [], nat: [], filter: [] },
  ip6tables: { mangle: [], nat: [], filter: [] },
};

/** Chains as `nft list ruleset` names them. */
const completeRuleset = [
  ...["ip filter KUBE-FIREWALL", "ip filter KUBE-KUBELET-CANARY"],
  ...["ip mangle KUBE-IPTABLES-HINT", "ip mangle KUBE-KUBELET-CANARY", "ip nat KUBE-KUBELET-CANARY"],
  ...["ip6 filter KUBE-KUBELET-CANARY"],
  ...["ip6 mangle KUBE-IPTABLES-HINT", "ip6 mangle KUBE-KUBELET-CANARY", "ip6 nat KUBE-KUBELET-CANARY"],
];

describe("iptables", { concurrency: true }, () => {
  for (const variant of ["nft", "legacy"] as const)
    describe(`the utility chains of iptables-${variant}`, { skip: unavailable(variant) }, () => {
      const namespace = new NetworkNamespace();
      const path = namespace.pathOf(variant);
      const stages: Record<string, { saved: unknown; ruleset: string[] | undefined }> = {};
      let agent: StandaloneAgent;
      let log = "";

      const start = () =>
        agent.start(withChains, mainFile, [
          ...namespace.launcher(path),
          ...[process.execPath, `--import=${shortMinute}`],
        ]);
      const record = (name: string) => {
        stages[name] = { saved: saved(namespace, path), ruleset: rulesetChains(namespace, path) };
      };
      const created = () => waitFor(() => assert.deepEqual(saved(namespace, path), complete), 120_000);

      before(async () => {
        agent = await StandaloneAgent.create();
        record("before the agent");
        start();
        await created();
        record("with the agent");
        flush(namespace, path);
        await created();
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

      for (const [stage, hasChains] of [
        ["before the agent", false],
        ["with the agent", true],
        ["after a flush", true],
        ["after the agent", true],
        ["with the next agent", true],
      ] as const)
        it(`${stage}, the tables have ${hasChains ? "each chain and rule once" : "none of them"}`, () => {
          assert.deepEqual(stages[stage]?.saved, hasChains ? complete : none);
          const { ruleset } = stages[stage] ?? {};
          if (ruleset)
            assert.deepEqual(
              new Set(ruleset),
              new Set(hasChains && variant === "nft" ? completeRuleset : []),
            );
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
      agent.start(withChains, mainFile, [...namespace.launcher(namespace.emptyPath()), process.execPath]);
      await agent.ready();
      await waitFor(() => assert.match(agent.log(), /No iptables support on this system/));
      const lines = agent.log().split("\n");
      assert.equal(lines.filter((line) => /iptables support/.test(line)).length, 1, agent.log());
    });
  });
});

/** The chains and rules of Kubernetes. Counters and the built-in chains are left out. */
function saved(namespace: NetworkNamespace, path: string) {
  const ofProgram = (program: string) => {
    const lines: Record<string, string[]> = { mangle: [], nat: [], filter: [] };
    let table = "";
    for (const line of namespace.run(path, [`${program}-save`]).output.split("\n")) {
      if (line.startsWith("*")) table = line.slice(1);
      else if (line.includes("KUBE-"))
        lines[table]?.push(line.startsWith(":") ? line.replace(/ .*/, "") : line);
    }
    return lines;
  };
  return { iptables: ofProgram("iptables"), ip6tables: ofProgram("ip6tables") };
}

/** Undefined on a machine without nft. */
function rulesetChains(namespace: NetworkNamespace, path: string): string[] | undefined {
  const { status, output } = namespace.run(path, ["nft", "list", "ruleset"]);
  if (status !== 0) return undefined;
  const chains: string[] = [];
  let table = "";
  for (const line of output.split("\n")) {
    const [, family] = /^table (\S+ \S+) \{/.exec(line) ?? [];
    const [, chain] = /^\tchain (KUBE-\S+) \{/.exec(line) ?? [];
    if (family) table = family;
    if (chain) chains.push(`${table} ${chain}`);
  }
  return chains;
}

/** As a firewall that is reloaded: all tables are empty, and have no chains of others. */
function flush(namespace: NetworkNamespace, path: string): void {
  const empty = tables.map((table) => `*${table}\nCOMMIT\n`).join("");
  for (const program of ["iptables", "ip6tables"]) {
    const { status, output } = namespace.run(path, [`${program}-restore`, "-w", "60"], empty);
    assert.equal(status, 0, output);
  }
}

function unavailable(variant: IptablesVariant): string | false {
  if (process.getuid?.() !== 0) return "needs root";
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
