import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { clusterAccessAsNode } from "../../src/kubelet/certs/cluster-credentials.ts";
import type { NodeObject } from "../../src/kubelet/node/node-types.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { acceleratedClock } from "./accelerated-clock.ts";
import { AgentLog } from "./agent-log.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";
import { startManualApprovalApi } from "./manual-approval-api.ts";

/** After this time, an unlimited back-off would be longer than 10 s. */
const rejections = 6;
const longestPauseMs = 10_000;

test("a first certificate is requested, not rotated; a rejected request is retried within 10 s", async (t) => {
  let attempts = 0;
  let isRuleMissing = true;
  const api = await startManualApprovalApi(t, ({ verb, resource, subresource }) => {
    if (verb !== "create" || resource !== "certificatesigningrequests" || subresource) return false;
    attempts++;
    return isRuleMissing;
  });
  const cluster = await TestCluster.start(t);
  const log = new AgentLog();
  const metrics = createMetrics();
  const config = { ...cluster.config(), rotateCertificates: true };
  const bootstrapKubeconfig = join(cluster.dir, "bootstrap");
  await api.allowJoining(bootstrapKubeconfig);
  const rejectedAttempts: string[] = [];
  const access = await clusterAccessAsNode({
    flags: {
      bootstrapKubeconfig,
      kubeconfig: join(cluster.dir, "kubeconfig"),
      certDir: join(cluster.dir, "pki"),
      hostnameOverride: nodeName,
    },
    config,
    metrics,
    kubeletVersion: "v1.36.4",
    logger: log.logger,
    clock: acceleratedClock(20),
    signal: t.signal,
    onCertificateUnavailable: (reason) => rejectedAttempts.push(reason),
  });
  t.after(() => access.close());
  await cluster.startAgent({ cluster: access, config, metrics, logger: log.logger });

  await waitFor(() => assert.ok(attempts >= rejections, log.lines.join("\n")));
  isRuleMissing = false;
  const rejected = attempts;
  await api.decide(await api.pendingRequest(), "Approved", "this node is known");
  await waitFor(async () => {
    const { status } = await api.get<NodeObject>(`/api/v1/nodes/${nodeName}`);
    assert.equal(status.conditions?.find(({ type }) => type === "Ready")?.status, "True");
  });
  await cluster.stopAgent();

  assert.equal(attempts, rejected + 1, "the first request after the role was added is not the last");
  const failures = log.lines.filter((line) => line.includes('"Certificate request failed, will retry"'));
  assert.equal(failures.length, rejected, log.lines.join("\n"));
  for (const line of failures) {
    assert.match(line, /^E.*cannot create certificate signing request: .*forbidden/);
    assert.ok(Number(/ retryMs=(\d+)/.exec(line)?.[1]) <= longestPauseMs, line);
  }
  const certificates = log.lines.filter((line) => line.includes('certificate="client-certificate"'));
  const requested = certificates.filter((line) => line.includes('"Requesting certificate"'));
  assert.equal(requested.length, rejected + 1, certificates.join("\n"));
  assert.doesNotMatch(certificates.join("\n"), /Rotating certificates|rotation failed/);
  assert.deepEqual(rejectedAttempts, []);
});
