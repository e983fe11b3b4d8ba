import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { cgroupNode } from "./cgroup-node.ts";

/** The families of /metrics/cadvisor of a Go kubelet on cgroup v2 with containerd, and which cgroups they have series for. */
const recorded = readFileSync(new URL("../fixtures/stats/cadvisor-v2.tsv", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .slice(1)
  .map((line) => line.split("\t") as [family: string, type: string, cgroups: string, labels: string]);

const kinds: readonly string[] = ["root", "slice", "pod", "sandbox", "container"];

async function served(t: TestContext) {
  const { cadvisor, slice, sandbox } = await cgroupNode(t);
  const kindOf = (id: string) => {
    if (id === "/") return "root";
    if (!id.startsWith(slice)) return "slice";
    if (id === slice) return "pod";
    return id.includes(sandbox) ? "sandbox" : "container";
  };
  const parsed = await cadvisor();
  const families = [...parsed.keys()].filter((name) => name.startsWith("container_"));
  const shapeOf = (family: string) => {
    const { type, samples = [] } = parsed.get(family) ?? {};
    const of = new Set<string>(samples.map(({ labels }) => kindOf(labels.id ?? "")));
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
    return [type, kinds.filter((kind) => of.has(kind)).join(" "), [...labels].sort().join(" ")];
  };
  return { families, shapeOf };
}

describe("/metrics/cadvisor has what a Go kubelet serves on cgroup v2", () => {
  it("each family with its type and labels, for the same cgroups", async (t) => {
    const { families, shapeOf } = await served(t);
    for (const [family, type, cgroups, labels] of recorded)
      assert.deepEqual([family, ...shapeOf(family)], [family, type, cgroups, labels]);
    const others = families.filter((family) => !recorded.some(([name]) => name === family));
    // It is recorded too, and has no labels.
    assert.deepEqual(
      others.filter((family) => shapeOf(family)[1] !== ""),
      ["container_scrape_error"],
    );
  });
});
