import assert from "node:assert/strict";
import { it } from "node:test";
import { listedMetrics } from "./known-names.ts";
import type { MeteredNode } from "./metered-node.ts";
import { labelsOf } from "./prometheus-text.ts";

/** A node that has run pods exposes every metric that docs/METRICS.md lists. */
export function agentNames(node: () => MeteredNode): void {
  for (const [endpoint, metrics] of listedMetrics())
    it(`${endpoint} exposes each listed metric, with its type and labels`, async () => {
      const reported = await node().metrics(endpoint);
      const wrong = metrics.flatMap(({ name, type, labels, exposed }) => {
        const found = reported.get(name);
        if (exposed !== "yes") return found ? [`${name} is exposed, but listed as missing`] : [];
        if (!found?.samples[0]) return [`${name} is not exposed`];
        const exposedLabels = labelsOf(found.samples[0]).join(",");
        return found.type === type && exposedLabels === labels
          ? []
          : [`${name} ${found.type} ${exposedLabels}`];
      });
      assert.deepEqual(wrong, []);
    });

  it("metrics count startup steps, pod starts, requests, cgroup operations and terminations", async () => {
    const reported = await node().metrics("/metrics");
    const sum = (name: string, labels: Record<string, string> = {}) =>
      (reported.get(name.replace(/_(count|sum)$/, "")) ?? reported.get(name))?.samples
        .filter(
          (s) => s.name === name && Object.entries(labels).every(([key, value]) => s.labels[key] === value),
        )
        .reduce((all, { value }) => all + value, 0) ?? Number.NaN;
    const startup = (step: string) => sum(`kubelet_node_startup_${step}duration_seconds`);
    const steps = ["pre_kubelet_", "pre_registration_", "registration_", "post_registration_"].map(startup);
    assert.ok(
      Math.abs(steps.reduce((all, step) => all + step, 0) - startup("")) < 0.01,
      "the startup steps do not add up to the total",
    );
    assert.ok(startup("pre_registration_") > 0 && startup("post_registration_") > 0);
    // The metrics count "web", the mirror of "fixed", and "crash", unless it exits before the agent observes it running.
    const starts = sum("kubelet_pod_start_sli_duration_seconds_count");
    assert.ok(starts >= 1 && starts <= 3, `${starts} pods of the API`);
    assert.equal(sum("kubelet_pod_start_total_duration_seconds_count"), starts);
    assert.ok(sum("kubelet_first_network_pod_start_sli_duration_seconds") >= 0);
    assert.ok(
      sum("apiserver_delegated_authz_request_total", { code: "201" }) > 0,
      "no authorization request was counted",
    );
    assert.ok(sum("rest_client_requests_total", { code: "201", method: "POST" }) > 0);
    assert.ok(sum("rest_client_request_duration_seconds_count", { verb: "PATCH" }) > 0);
    assert.ok(sum("kubelet_cgroup_manager_duration_seconds_count", { operation_type: "create" }) >= 3);
    assert.ok(sum("kubelet_terminated_containers_total", { exit_code: "3" }) >= 1);
    assert.equal(sum("kubelet_active_pods", { static: "true" }), 1);
    assert.equal(sum("kubelet_mirror_pods"), 1);
  });

  it("OpenMetrics is sent to clients that accept it, with the same names", async () => {
    const accept = "application/openmetrics-text;version=1.0.0";
    const { headers, body } = await node().request("/metrics", { headers: { accept } });
    assert.match(String(headers["content-type"]), /^application\/openmetrics-text; *version=1\.0\.0/);
    assert.ok(body.endsWith("# EOF\n"));
    // OpenMetrics exposes a counter's name without its suffix.
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
