import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resolvConfProblem } from "./resolv-conf-limits.ts";

const domains = (count: number, name = "d") =>
  Array.from({ length: count }, (_, i) => `${name}${i}.test`).join(" ");

describe("the limits of the node's resolver configuration", () => {
  const table: [rule: string, text: string, clusterDomain: string, problem: string | undefined][] = [
    ["no search line is within them", "nameserver 192.0.2.53\n", "cluster.local", undefined],
    ["29 domains leave room for three of the cluster", `search ${domains(29)}\n`, "cluster.local", undefined],
    [
      "30 domains leave none",
      `search ${domains(30)}\n`,
      "cluster.local",
      "Resolv.conf file '/x' contains search line consisting of more than 29 domains!",
    ],
    ["32 domains are enough for a node without a cluster domain", `search ${domains(32)}\n`, "", undefined],
    [
      "a domain of 254 characters is too long",
      `search ${"a".repeat(254)}\n`,
      "cluster.local",
      'Resolv.conf file "/x" contains a search path which length is more than allowed 253 chars!',
    ],
    [
      "a line of more than 2048 characters is too long",
      `search ${domains(12, "n".repeat(200))}\n`,
      "cluster.local",
      "Resolv.conf file '/x' contains search line which length is more than allowed 2048 chars!",
    ],
    ["a file that cannot be parsed is reported", "nameserver\n", "", "nameserver list is empty"],
  ];
  for (const [rule, text, clusterDomain, problem] of table)
    it(rule, () => assert.equal(resolvConfProblem({ path: "/x", text }, clusterDomain), problem));
});
