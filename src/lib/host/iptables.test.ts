import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeCommands } from "./fake-commands.ts";
import { type Iptables, type IptablesRule, systemIptables } from "./iptables.ts";

const never = new AbortController().signal;
const jump: IptablesRule = { position: "first", chain: "INPUT", args: ["-j", "A"] };

interface Row {
  title: string;
  act: (iptables: Iptables) => Promise<unknown>;
  /** Exit codes by the prefix of the command line. */
  codes?: Record<string, number | undefined>;
  lines: string[];
  result?: unknown;
  error?: string;
}

const chain = "iptables -w 5";
const rows: Row[] = [
  {
    title: "a host whose nat table can be listed has iptables",
    act: (i) => i.isPresent(never),
    lines: [`${chain} -S POSTROUTING -t nat`],
    result: true,
  },
  {
    title: "a kernel without the nat table has no iptables",
    act: (i) => i.isPresent(never),
    codes: { [chain]: 3 },
    lines: [`${chain} -S POSTROUTING -t nat`],
    result: false,
  },
  {
    title: "a new chain is created",
    act: (i) => i.ensureChain("mangle", "A", never),
    lines: [`${chain} -N A -t mangle`],
  },
  {
    title: "a chain that exists is kept",
    act: (i) => i.ensureChain("mangle", "A", never),
    codes: { [chain]: 1 },
    lines: [`${chain} -N A -t mangle`],
  },
  {
    title: "a chain that cannot be created is an error with the output of iptables",
    act: (i) => i.ensureChain("mangle", "A", never),
    codes: { [chain]: 4 },
    lines: [`${chain} -N A -t mangle`],
    error: 'error creating chain "A": exit status 4: the output',
  },
  {
    title: "a chain that can be listed exists",
    act: (i) => i.hasChain("nat", "A", never),
    lines: [`${chain} -S A -t nat`],
    result: true,
  },
  {
    title: "a chain that iptables does not find does not exist",
    act: (i) => i.hasChain("nat", "A", never),
    codes: { [chain]: 1 },
    lines: [`${chain} -S A -t nat`],
    result: false,
  },
  {
    title: "a lock of another program does not mean that a chain is gone",
    act: (i) => i.hasChain("nat", "A", never),
    codes: { [chain]: 4 },
    lines: [`${chain} -S A -t nat`],
    error: 'error listing chain "A" in table "nat": exit status 4: the output',
  },
  {
    title: "a listing that does not end does not mean that a chain is gone",
    act: (i) => i.hasChain("nat", "A", never),
    codes: { [chain]: undefined },
    lines: [`${chain} -S A -t nat`],
    error: 'error listing chain "A" in table "nat": signal: killed: the output',
  },
  {
    title: "a rule that exists is not added again",
    act: (i) => i.ensureRule("filter", jump, never),
    lines: [`${chain} -C INPUT -t filter -j A`],
  },
  {
    title: "a missing rule is added first",
    act: (i) => i.ensureRule("filter", jump, never),
    codes: { [`${chain} -C`]: 1 },
    lines: [`${chain} -C INPUT -t filter -j A`, `${chain} -I INPUT -t filter -j A`],
  },
  {
    title: "a missing rule is added last",
    act: (i) => i.ensureRule("filter", { ...jump, position: "last" }, never),
    codes: { [`${chain} -C`]: 1 },
    lines: [`${chain} -C INPUT -t filter -j A`, `${chain} -A INPUT -t filter -j A`],
  },
  {
    title: "a rule that cannot be checked is not added",
    act: (i) => i.ensureRule("filter", jump, never),
    codes: { [`${chain} -C`]: 2 },
    lines: [`${chain} -C INPUT -t filter -j A`],
    error: "error checking rule: exit status 2: the output",
  },
  {
    title: "a check that does not end is an error",
    act: (i) => i.ensureRule("filter", jump, never),
    codes: { [`${chain} -C`]: undefined },
    lines: [`${chain} -C INPUT -t filter -j A`],
    error: "timed out while checking rules",
  },
  {
    title: "a rule that cannot be added is an error",
    act: (i) => i.ensureRule("filter", jump, never),
    codes: { [`${chain} -C`]: 1, [`${chain} -I`]: 4 },
    lines: [`${chain} -C INPUT -t filter -j A`, `${chain} -I INPUT -t filter -j A`],
    error: "error appending rule: exit status 4: the output",
  },
];

describe("iptables", () => {
  for (const { title, act, codes = {}, lines, result, error } of rows)
    it(title, async () => {
      const commands = new FakeCommands(
        Object.fromEntries(
          Object.entries(codes).map(([line, code]) => [line, { code, output: "the output\n" }]),
        ),
      );
      const acted = act(systemIptables("IPv4", commands));
      if (error === undefined) assert.equal(await acted, result);
      else await assert.rejects(acted, { message: error });
      assert.deepEqual(commands.lines, lines);
    });
  it("the program of IPv6 is ip6tables", async () => {
    const commands = new FakeCommands();
    await systemIptables("IPv6", commands).ensureChain("mangle", "A", never);
    assert.deepEqual(commands.lines, ["ip6tables -w 5 -N A -t mangle"]);
  });
  it("a host without the program has no iptables", async () => {
    const commands = { run: () => Promise.reject(new Error("spawn iptables ENOENT")) };
    assert.equal(await systemIptables("IPv4", commands).isPresent(never), false);
  });
});
