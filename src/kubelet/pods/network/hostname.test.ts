import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { kernelHostname, podHostname } from "./hostname.ts";

const of = (spec: object, name = "web") =>
  podHostname(fakePod({ metadata: { name }, spec }), "cluster.local");

describe("podHostname", () => {
  const rows: [rule: string, hostname: string, domain: string, spec: object, name?: string][] = [
    ["is the pod's name", "web", "", {}],
    ["is spec.hostname if there is one", "web-0", "", { hostname: "web-0" }],
    ["has a domain with a subdomain", "web", "sub.default.svc.cluster.local", { subdomain: "sub" }],
    ["is truncated to 63 characters", "a".repeat(63), "", {}, "a".repeat(70)],
    ["does not end with - or . after truncation", "a".repeat(60), "", {}, `${"a".repeat(60)}.-.bbbb`],
    [
      "is the override, which has no domain",
      "other.name",
      "",
      { hostnameOverride: "other.name", subdomain: "sub" },
    ],
  ];
  for (const [rule, hostname, domain, spec, name] of rows) {
    it(rule, () => assert.deepEqual(of(spec, name), { hostname, domain }));
  }
  it("is not the override while the feature is disabled", () => {
    const pod = fakePod({ spec: { hostnameOverride: "other", hostname: "own", subdomain: "sub" } });
    const expected = { hostname: "own", domain: "sub.default.svc.cluster.local" };
    assert.deepEqual(podHostname(pod, "cluster.local", false), expected);
  });
  for (const [field, spec] of [
    ["Hostname", { hostname: "Upper" }],
    ["Subdomain", { subdomain: "a.b" }],
    ["HostnameOverride", { hostnameOverride: "-x" }],
  ] as const) {
    it(`names an invalid ${field}`, () =>
      assert.throws(
        () => of(spec),
        (e: Error & { code?: string }) =>
          e.code === "ConfigPodSandboxError" && e.message.includes(`pod ${field} `),
      ));
  }
});

describe("kernelHostname", () => {
  it("is the short name unless setHostnameAsFQDN is set", () => {
    const name = { hostname: "web", domain: "d.local" };
    assert.equal(kernelHostname(name, undefined), "web");
    assert.equal(kernelHostname(name, true), "web.d.local");
    assert.equal(kernelHostname({ hostname: "web", domain: "" }, true), "web");
  });
  it("may have 64 characters, not 65", () => {
    assert.equal(kernelHostname({ hostname: "a", domain: "b".repeat(62) }, true).length, 64);
    assert.throws(
      () => kernelHostname({ hostname: "a", domain: "b".repeat(63) }, true),
      /too long \(64 characters is the max, 65/,
    );
  });
});
