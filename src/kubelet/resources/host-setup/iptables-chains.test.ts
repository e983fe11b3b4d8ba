import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { FakeIptables } from "../../../lib/host/fake-iptables.ts";
import { IptablesChains } from "./iptables-chains.ts";

const canaries = {
  "mangle KUBE-KUBELET-CANARY": [],
  "nat KUBE-KUBELET-CANARY": [],
  "filter KUBE-KUBELET-CANARY": [],
};
const all = {
  IPv4: {
    "mangle KUBE-IPTABLES-HINT": [],
    "filter INPUT": ["-j KUBE-FIREWALL"],
    "filter OUTPUT": ["-j KUBE-FIREWALL"],
    "filter KUBE-FIREWALL": [
      "-m comment --comment block incoming localnet connections --dst 127.0.0.0/8 ! --src 127.0.0.0/8 " +
        "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
    ],
    ...canaries,
  },
  IPv6: { "mangle KUBE-IPTABLES-HINT": [], ...canaries },
};

function setUp() {
  const clock = new FakeClock();
  const v4 = new FakeIptables("IPv4");
  const v6 = new FakeIptables("IPv6");
  const log: unknown[][] = [];
  const write = (message: string, fields: object = {}) => void log.push([message, ...Object.values(fields)]);
  const logger: Logger = { ...silentLogger, info: write, error: write };
  const chains = new IptablesChains({ iptables: [v4, v6], clock, logger });
  const stop = new AbortController();
  return {
    clock,
    v4,
    v6,
    log,
    stop,
    chains,
    async start() {
      await chains.start(stop.signal);
      await clock.advance(0);
    },
  };
}

describe("iptables utility chains", () => {
  it("the chains of both IP families are created", async () => {
    const { start, v4, v6, log, stop, chains } = setUp();
    await start();
    assert.deepEqual(v4.content(), all.IPv4);
    assert.deepEqual(v6.content(), all.IPv6);
    assert.deepEqual(log.toSorted(), [
      ["Initialized iptables rules.", "IPv4"],
      ["Initialized iptables rules.", "IPv6"],
    ]);
    stop.abort();
    await chains.done;
  });
  it("the chains are kept when the agent stops", async () => {
    const { start, v4, stop, chains } = setUp();
    await start();
    stop.abort();
    await chains.done;
    assert.deepEqual(v4.content(), all.IPv4);
  });
  it("rules of others are kept, behind those of the kubelet", async () => {
    const { start, v4, stop } = setUp();
    const args = ["-j", "ACCEPT"];
    await v4.ensureRule("filter", { position: "last", chain: "INPUT", args });
    await start();
    assert.deepEqual(v4.content()["filter INPUT"], ["-j KUBE-FIREWALL", "-j ACCEPT"]);
    stop.abort();
  });
  it("a flush is found within a minute, and the chains are recreated", async () => {
    const { start, v4, clock, stop } = setUp();
    await start();
    for (const table of ["mangle", "filter", "nat"] as const) v4.flush(table);
    await clock.advance(59_000);
    assert.deepEqual(v4.content(), {});
    await clock.advance(1_000);
    assert.deepEqual(v4.content(), all.IPv4);
    stop.abort();
  });
  it("a table without changes is listed once a minute, and the other tables are not", async () => {
    const { start, v4, clock, stop } = setUp();
    await start();
    v4.calls.length = 0;
    await clock.advance(3 * 60_000);
    assert.deepEqual(v4.calls, ["hasChain mangle", "hasChain mangle", "hasChain mangle"]);
    stop.abort();
  });
  it("the chains are recreated after the flush of all tables has ended", async () => {
    const { start, v4, clock, stop } = setUp();
    await start();
    v4.flush("mangle");
    await clock.advance(60_000);
    v4.flush("nat");
    await clock.advance(1_000);
    assert.deepEqual(v4.content()["mangle KUBE-IPTABLES-HINT"], undefined);
    v4.flush("filter");
    await clock.advance(100);
    assert.deepEqual(v4.content(), all.IPv4);
    stop.abort();
  });
  it("a flush of one table only is not awaited for long", async () => {
    const { start, v4, clock, log, stop } = setUp();
    await start();
    v4.flush("mangle");
    await clock.advance(65_000);
    assert.deepEqual(v4.content(), all.IPv4);
    assert.deepEqual(log.at(-1), ["Inconsistent iptables state detected", "IPv4"]);
    stop.abort();
  });
  it("a lock held by another program is not a flush, and is logged once", async () => {
    const { start, v4, clock, log, stop } = setUp();
    await start();
    log.length = 0;
    v4.calls.length = 0;
    v4.failures.set("hasChain mangle", "exit status 4");
    await clock.advance(3 * 60_000);
    assert.deepEqual(v4.calls, ["hasChain mangle", "hasChain mangle", "hasChain mangle"]);
    assert.deepEqual(log, [["Could not check for iptables canary", "IPv4", "exit status 4"]]);
    stop.abort();
  });
  it("a host without iptables gets one line", async () => {
    const { start, v4, v6, log, clock, chains } = setUp();
    v4.present = false;
    v6.present = false;
    await start();
    await clock.advance(10 * 60_000);
    await chains.done;
    assert.deepEqual(log, [
      ["No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain"],
    ]);
    assert.deepEqual(v4.calls, []);
  });
  it("a host without IPv6 gets the chains of IPv4", async () => {
    const { start, v4, v6, log, stop } = setUp();
    v6.present = false;
    await start();
    assert.deepEqual(v4.content(), all.IPv4);
    assert.deepEqual(v6.calls, []);
    assert.deepEqual(log, [["Initialized iptables rules.", "IPv4"]]);
    stop.abort();
  });
  it("a failure of one IP family is logged once and retried, and leaves the other alone", async () => {
    const { start, v4, v6, log, clock, stop } = setUp();
    v4.failures.set("ensureRule filter", "exit status 4: locked");
    await start();
    await clock.advance(5 * 60_000);
    assert.deepEqual(v6.content(), all.IPv6);
    assert.deepEqual(log.toSorted(), [
      ["Failed to ensure that OUTPUT chain jumps to KUBE-FIREWALL", "IPv4", "exit status 4: locked"],
      ["Initialized iptables rules.", "IPv6"],
    ]);
    v4.failures.clear();
    await clock.advance(60_000);
    assert.deepEqual(v4.content(), all.IPv4);
    stop.abort();
  });
});
