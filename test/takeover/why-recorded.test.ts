import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { explanationLines } from "../../src/cli/explanation-lines.ts";
import { whyPods } from "../../src/cli/why/explain.ts";
import { KubeletError } from "../../src/lib/base/errors.ts";
import { brokenPods } from "../cluster/broken-pods.ts";
import type { RecordedBrokenPods } from "./isolated-broken-pods.ts";

const recorded = JSON.parse(
  readFileSync(new URL("../fixtures/takeover/broken-pods-1.36.json", import.meta.url), "utf8"),
) as RecordedBrokenPods;

/** Causes of which neither the status nor an event has all details: the first lines name less. */
const unknown: Readonly<Record<string, RegExp>> = {
  "image-dns": /the DNS server of the node does not resolve registry\.invalid \(network is unreachable\)/,
  "node-empty-dir": /Evicted: Usage of EmptyDir volume "data" exceeds the limit "1Mi"/,
  "node-host-port": /NodePorts: .* didn't have free ports for the requested pod ports/,
  "node-storage": /Evicted: Pod ephemeral local storage usage exceeds the total limit of containers 1Mi/,
  "probe-silent": /readiness probe of container c failed: its command failed with no output/,
  "probe-startup": /was killed because its startup probe failed: its command failed with no output/,
  "sandbox-name": /its FQDN has 150 characters, but a host name has at most 64/,
  "start-hook": /was killed because its postStart hook failed: the kubelet does not report its output/,
  "start-hook-silent": /was killed because its postStart hook failed: the kubelet does not report its output/,
  "start-oom": /container c exited with code 137 \(OOMKilled\), its memory limit is 24Mi/,
  "volume-disk": /its containers are being created/,
};

/** The API server of a node with kubelet v1.36.4, which has no path for explanations. */
const kubectl = {
  async get<T>(path: string): Promise<T> {
    const url = new URL(path, "http://api");
    const uid = /involvedObject\.uid=(.+)/.exec(url.searchParams.get("fieldSelector") ?? "")?.[1];
    const name = /\/pods\/(.+)$/.exec(url.pathname)?.[1];
    if (url.pathname.includes("/proxy/"))
      throw new KubeletError("NotFound", "the server could not find the requested resource");
    if (url.pathname.endsWith("/events"))
      return {
        items: recorded.events.filter(({ involvedObject }) => !uid || involvedObject.uid === uid),
      } as T;
    if (url.pathname.startsWith("/api/v1/nodes/")) return recorded.node as T;
    if (name) return recorded.pods.find(({ metadata }) => metadata.name === name) as T;
    return { items: recorded.pods } as T;
  },
};

describe("kubectl why for a node of kubelet v1.36.4", () => {
  const now = Date.parse(recorded.at);
  const why = (name?: string) => whyPods(kubectl, { namespace: "default", name }, now);

  for (const { name, names, step } of brokenPods({}))
    test(`of the broken pod ${name}`, async () => {
      const { pods } = await why(name);
      const [first = "", second = ""] = explanationLines({ at: recorded.at, node: "", pods });
      assert.match(first, unknown[name] ?? names);
      assert.ok(first.length <= 160, first);
      if (!unknown[name]) assert.match(second, step);
    });

  test("one pod is explained as it is among all", async () => {
    const all = await why();
    for (const pod of all.pods) assert.deepEqual((await why(pod.name)).pods, [pod]);
  });

  test("a note states why the node is not the source", async () => {
    assert.deepEqual((await why("start-crash")).notes, [
      "the kubelet of node node-a has no explanations: this is from the status and the events",
    ]);
  });
});
