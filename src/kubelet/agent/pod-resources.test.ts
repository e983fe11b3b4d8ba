import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../lib/base/clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { callUnary, openChannel } from "../../lib/clients/cri/grpc-call.ts";
import { FeatureGates } from "../../lib/config/feature-gates.ts";
import { PodResourcesLister } from "../../lib/gen/podresources/v1/api_pb.js";
import { fakePod } from "../../lib/model/fake-pod.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import type { AgentCore } from "./agent-core.ts";
import { podResources } from "./pod-resources.ts";

// parity: gate KubeletPodResourcesListUseActivePods=true, gate KubeletPodResourcesListUseActivePods=false
test("List has the pods that are active, or all without KubeletPodResourcesListUseActivePods", async (t) => {
  const named = (name: string) => fakePod({ metadata: { name, uid: name as PodUid } });
  const [running, done] = [named("running"), named("done")];
  const listed = async (isOn: boolean) => {
    const rootDir = await mkdtemp(join(tmpdir(), "pod-resources-"));
    const stop = new AbortController();
    t.after(async () => {
      stop.abort();
      await rm(rootDir, { recursive: true });
    });
    const gates = new FeatureGates({ KubeletPodResourcesListUseActivePods: isOn });
    const core = {
      clock: systemClock,
      logger: silentLogger,
      metrics: createMetrics(),
      options: { gates, rootDir },
      desired: { all: () => [running, done] },
    } as unknown as AgentCore;
    await podResources(core, () => [running], {}).start(stop.signal);
    const channel = openChannel(join(rootDir, "pod-resources/kubelet.sock"));
    t.after(() => channel.close());
    const limits = { clock: systemClock, timeoutMs: 10_000, signal: undefined };
    const { podResources: found } = await callUnary(channel, PodResourcesLister.method.list, {}, limits);
    return found.map(({ name }) => name);
  };
  assert.deepEqual(await listed(true), ["running"]);
  assert.deepEqual(await listed(false), ["running", "done"]);
});
