import assert from "node:assert/strict";
import { it } from "node:test";
import { listedMetrics } from "./known-names.ts";
import type { MeteredNode } from "./metered-node.ts";
import { labelsOf } from "./prometheus-text.ts";

/** Told with the first volume of this kind, which only newer runtimes have. */
const ofImageVolumes = /^kubelet_image_volume_/;

/** A node that has worked tells every metric that docs/METRICS.md says it does. */
export function agentNames(node: () => MeteredNode): void {
  for (const [endpoint, metrics] of listedMetrics())
    it(`${endpoint}: each that is listed as there is told, with its type and labels`, async () => {
      const told = await node().metrics(endpoint);
      const wrong = metrics.flatMap(({ name, type, labels, there }) => {
        const found = told.get(name);
        if (there !== "yes") return found ? [`${name} is told, and the list says that it is not`] : [];
        if (!found?.samples[0]) return ofImageVolumes.test(name) ? [] : [`${name} is not told`];
        const seen = labelsOf(found.samples[0]).join(",");
        return found.type === type && seen === labels ? [] : [`${name} ${found.type} ${seen}`];
      });
      assert.deepEqual(wrong, []);
    });

  it("OpenMetrics is told to who asks for it, with the same names", async () => {
    const accept = "application/openmetrics-text;version=1.0.0";
    const { headers, body } = await node().ask("/metrics", { headers: { accept } });
    assert.match(String(headers["content-type"]), /^application\/openmetrics-text; *version=1\.0\.0/);
    assert.ok(body.endsWith("# EOF\n"));
    // A counter's name is told without its ending there.
    const names = [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) =>
      type === "counter" ? `${name}_total` : name,
    );
    const plain = [...(await node().metrics("/metrics")).values()].map(({ name, type }) =>
      type === "counter" && !name.endsWith("_total") ? `${name}_total` : name,
    );
    assert.deepEqual(
      plain.filter((name) => !names.includes(name)),
      [],
    );
  });
}
