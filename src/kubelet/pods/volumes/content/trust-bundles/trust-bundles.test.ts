import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "../../../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../../../lib/base/logger.ts";
import { pem } from "../../../../../lib/base/x509/pem.ts";
import { KubeApiError } from "../../../../../lib/clients/kube/api-error.ts";
import type { KubeRequest, KubeStreamRequest } from "../../../../../lib/clients/kube/transport-interface.ts";
import type { LabelSelector } from "../../../../../lib/gen/kubernetes/meta.d.ts";
import { ClusterTrustBundles, labelMatcher, trustAnchors } from "./cluster-trust-bundles.ts";

const { signal } = new AbortController();
const certificate = (text: string) => pem("CERTIFICATE", Buffer.from(text));
const texts = (bundle: string) =>
  [...bundle.matchAll(/-----\n([^-]+)\n-----/g)]
    .map(([, body = ""]) => Buffer.from(body, "base64").toString())
    .sort((a, b) => (a < b ? -1 : 1));

describe("trust anchors", () => {
  it("contain each certificate once, without comments", () => {
    const merged = trustAnchors([
      `# mine\n${certificate("a")}${certificate("b")}`,
      `${certificate("b")}\n\n${certificate("c")}`,
    ]);
    assert.deepEqual(texts(merged), ["a", "b", "c"]);
    assert.doesNotMatch(merged, /mine/);
  });

  it("do not depend on the order of the bundles", () => {
    const bundles = ["a", "b", "c", "d"].map(certificate);
    assert.equal(trustAnchors(bundles), trustAnchors(bundles.toReversed()));
  });
});

describe("label selector", () => {
  const labels = { app: "web", tier: "front" };
  const cases: [string, LabelSelector | undefined, boolean][] = [
    ["a missing selector matches nothing", undefined, false],
    ["an empty selector matches everything", {}, true],
    ["a label with the same value matches", { matchLabels: { app: "web" } }, true],
    ["a label with another value does not match", { matchLabels: { app: "db" } }, false],
    [
      "In matches one of the values",
      { matchExpressions: [{ key: "app", operator: "In", values: ["db", "web"] }] },
      true,
    ],
    [
      "In does not match without the label",
      { matchExpressions: [{ key: "x", operator: "In", values: [""] }] },
      false,
    ],
    [
      "NotIn does not match one of the values",
      { matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] },
      false,
    ],
    [
      "NotIn matches without the label",
      { matchExpressions: [{ key: "x", operator: "NotIn", values: ["web"] }] },
      true,
    ],
    ["Exists matches a label", { matchExpressions: [{ key: "app", operator: "Exists" }] }, true],
    [
      "DoesNotExist does not match a label",
      { matchExpressions: [{ key: "app", operator: "DoesNotExist" }] },
      false,
    ],
    [
      "all of several requirements must match",
      { matchLabels: { app: "web" }, matchExpressions: [{ key: "x", operator: "Exists" }] },
      false,
    ],
  ];
  for (const [what, selector, matches] of cases)
    it(what, () => assert.equal(labelMatcher(selector)(labels), matches));
  it("an unknown operator is an error", () =>
    assert.throws(() => labelMatcher({ matchExpressions: [{ key: "x", operator: "Near" }] })));
});

describe("cluster trust bundles", () => {
  const items = [
    {
      metadata: meta("one", { env: "live" }),
      spec: { signerName: "a.example/s", trustBundle: certificate("1") },
    },
    {
      metadata: meta("two", { env: "test" }),
      spec: { signerName: "a.example/s", trustBundle: certificate("2") },
    },
    { metadata: meta("plain", {}), spec: { trustBundle: certificate("3") } },
  ];
  function meta(name: string, labels: Record<string, string>) {
    return { name, labels, uid: `uid-${name}`, resourceVersion: "5" };
  }

  function setUp(served: readonly string[]) {
    const requests: string[] = [];
    const clock = new FakeClock();
    const api = {
      request: async <T>({ path }: KubeRequest): Promise<T> => {
        requests.push(path);
        const version = path.split("/")[3] ?? "";
        if (!served.includes(version))
          throw new KubeApiError({ status: 404, reason: "NotFound", message: "page not found" });
        if (path.endsWith(version)) return { resources: [{ name: "clustertrustbundles" }] } as T;
        return { metadata: { resourceVersion: "9" }, items } as T;
      },
      stream: async ({ signal: until }: KubeStreamRequest): Promise<AsyncIterable<Uint8Array>> =>
        endless(until),
    };
    const bundles = new ClusterTrustBundles({ api, clock, logger: silentLogger });
    return { bundles, requests, clock };
  }

  async function* endless(until: AbortSignal): AsyncGenerator<Uint8Array> {
    await new Promise((resolve) => until.addEventListener("abort", resolve, { once: true }));
  }

  // parity: gate ClusterTrustBundleProjection=true as bundles
  it("are found by name, or by signer and labels, and not requested before", async (t) => {
    const stop = new AbortController();
    t.after(() => stop.abort());
    const { bundles, requests } = setUp(["v1alpha1"]);
    await bundles.start(stop.signal);
    assert.deepEqual(requests, []);
    assert.deepEqual(texts(await bundles.byName("plain", false, signal)), ["3"]);
    assert.deepEqual(texts(await bundles.bySigner("a.example/s", {}, false, signal)), ["1", "2"]);
    const live = { matchLabels: { env: "live" } };
    assert.deepEqual(texts(await bundles.bySigner("a.example/s", live, false, signal)), ["1"]);
    assert.deepEqual(requests, [
      "/apis/certificates.k8s.io/v1beta1",
      "/apis/certificates.k8s.io/v1alpha1",
      "/apis/certificates.k8s.io/v1alpha1/clustertrustbundles",
    ]);
    assert.equal(await bundles.byName("none", true, signal), "");
    assert.equal(await bundles.bySigner("a.example/s", undefined, true, signal), "");
    await assert.rejects(bundles.byName("none", false, signal), {
      message: 'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found',
    });
    await assert.rejects(bundles.bySigner("b.example/s", {}, false, signal), {
      message: "combination of signerName and labelSelector matched zero ClusterTrustBundles",
    });
  });

  it("an API server without them is checked again after a minute, not each time", async () => {
    const { bundles, requests, clock } = setUp([]);
    await bundles.start(signal);
    const message = "ClusterTrustBundle projection is not supported in static kubelet mode";
    for (let i = 0; i < 3; i++) await assert.rejects(bundles.byName("x", true, signal), { message });
    assert.equal(requests.length, 2);
    await clock.advance(60_000);
    await assert.rejects(bundles.byName("x", true, signal), { message });
    assert.equal(requests.length, 4);
  });
});
