import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { PodSpec } from "../../../lib/model/pod.ts";
import { type DnsSettings, podDns } from "./dns.ts";
import { type DnsConfig, parseResolvConf } from "./resolv-conf.ts";

const host: DnsConfig = { servers: ["192.0.2.53"], searches: ["example.com"], options: ["timeout:1"] };
const settings: DnsSettings = {
  clusterDns: ["10.96.0.10"],
  clusterDomain: "cluster.local",
  host,
  nodeIps: ["192.0.2.10"],
};
const cluster: DnsConfig = {
  servers: ["10.96.0.10"],
  searches: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com"],
  options: ["ndots:5"],
};
const of = (spec: Partial<PodSpec>, over: Partial<DnsSettings> = {}) =>
  podDns(fakePod({ spec: spec as object }), { ...settings, ...over });

describe("podDns", () => {
  const rows: [rule: string, expected: DnsConfig, spec: Partial<PodSpec>, over?: Partial<DnsSettings>][] = [
    ["ClusterFirst uses only the cluster DNS", cluster, { dnsPolicy: "ClusterFirst" }],
    [
      "ClusterFirst with hostNetwork falls back to the DNS of the node",
      host,
      { dnsPolicy: "ClusterFirst", hostNetwork: true },
    ],
    [
      "ClusterFirstWithHostNet uses the cluster DNS even with hostNetwork",
      cluster,
      { dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true },
    ],
    ["Default uses the DNS of the node", host, { dnsPolicy: "Default" }],
    ["None is empty", { servers: [], searches: [], options: [] }, { dnsPolicy: "None" }],
    [
      "None uses dnsConfig only",
      { servers: ["1.1.1.1"], searches: ["a"], options: ["ndots:2", "edns0"] },
      {
        dnsPolicy: "None",
        dnsConfig: {
          nameservers: ["1.1.1.1"],
          searches: ["a"],
          options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
        },
      },
    ],
    [
      "dnsConfig adds servers and searches once, and replaces options",
      { servers: ["192.0.2.53", "1.1.1.1"], searches: ["example.com", "a"], options: ["timeout:9"] },
      {
        dnsPolicy: "Default",
        dnsConfig: {
          nameservers: ["192.0.2.53", "1.1.1.1"],
          searches: ["example.com", "a"],
          options: [{ name: "timeout", value: "9" }],
        },
      },
    ],
    [
      "without a cluster domain only the search domains of the node remain",
      { ...cluster, searches: ["example.com"] },
      { dnsPolicy: "ClusterFirst" },
      { clusterDomain: "" },
    ],
    [
      "an empty resolvConf disables lookups",
      { servers: ["127.0.0.1", "::1"], searches: ["."], options: [] },
      { dnsPolicy: "Default" },
      { host: undefined, nodeIps: ["192.0.2.10", "fd00::1"] },
    ],
    [
      "an empty resolvConf does not affect the cluster DNS",
      { ...cluster, searches: cluster.searches.slice(0, 3) },
      { dnsPolicy: "ClusterFirst" },
      { host: undefined },
    ],
  ];
  for (const [rule, expected, spec, over] of rows) {
    it(rule, () => {
      const { config, events } = of(spec, over);
      assert.deepEqual(config, expected);
      assert.deepEqual(events, []);
    });
  }

  it("ClusterFirst without a cluster DNS falls back to the DNS of the node, with events for node and pod", () => {
    const { config, events } = of({ dnsPolicy: "ClusterFirst" }, { clusterDns: [] });
    assert.deepEqual(config, host);
    assert.deepEqual(
      events.map((n) => [n.about, n.reason]),
      [
        ["node", "MissingClusterDNS"],
        ["pod", "MissingClusterDNS"],
      ],
    );
    assert.match(
      events[1]!.message,
      /^pod: "web_default\(.*\)"\. kubelet does not have ClusterDNS IP configured/,
    );
  });
  it("at most three name servers are used", () => {
    const { config, events } = of({ dnsPolicy: "None", dnsConfig: { nameservers: ["1", "2", "3", "4"] } });
    assert.deepEqual(config.servers, ["1", "2", "3"]);
    assert.match(events[0]!.message, /applied nameserver line is: 1 2 3$/);
  });
  it("at most 32 search domains are used", () => {
    const searches = Array.from({ length: 40 }, (_, i) => `s${i}`);
    assert.deepEqual(
      of({ dnsPolicy: "None", dnsConfig: { searches } }).config.searches,
      searches.slice(0, 32),
    );
  });
  it("a search domain that is too long is dropped", () => {
    const { config, events } = of({
      dnsPolicy: "None",
      dnsConfig: { searches: ["a", "b".repeat(254), "c"] },
    });
    assert.deepEqual(config.searches, ["a", "c"]);
    assert.equal(events[0]?.reason, "DNSConfigForming");
  });
  it("search domains are limited in number and length, with an event if one was omitted", () => {
    const search = fc.integer({ min: 1, max: 300 }).map((n) => "x".repeat(n));
    fc.assert(
      fc.property(fc.uniqueArray(search, { maxLength: 40 }), (searches) => {
        const { config, events } = of({ dnsPolicy: "None", dnsConfig: { searches } });
        assert.ok(config.searches.length <= 32 && config.searches.join(" ").length <= 2048);
        assert.equal(events.length > 0, config.searches.length < searches.length);
      }),
    );
  });
});

describe("parseResolvConf", () => {
  const rows: [rule: string, text: string, expected: DnsConfig][] = [
    [
      "name servers accumulate",
      "nameserver 1.1.1.1\nnameserver 2.2.2.2 # x",
      { servers: ["1.1.1.1", "2.2.2.2"], searches: [], options: [] },
    ],
    [
      "the last search line is used, without dots at the end",
      "search a b.\nsearch c. .",
      { servers: [], searches: ["c"], options: [] },
    ],
    [
      "an option replaces one of its name",
      "options ndots:5 a\noptions ndots:2",
      { servers: [], searches: [], options: ["ndots:2", "a"] },
    ],
    [
      "comments, empty lines and others are skipped",
      "# nameserver 1.1.1.1\n\n  \ndomain x\n",
      { servers: [], searches: [], options: [] },
    ],
  ];
  for (const [rule, text, expected] of rows)
    it(rule, () => assert.deepEqual(parseResolvConf(text), expected));
  it("a server line without a server is an error", () =>
    assert.throws(() => parseResolvConf("nameserver\n"), /nameserver list is empty/));
});
