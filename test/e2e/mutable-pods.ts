import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { type Agent, startAgent } from "../../src/kubelet/agent/agent.ts";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import type { PodSource } from "../../src/kubelet/pipeline/sources/source.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { healthy } from "../../src/lib/base/component.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { withDefaults } from "../../src/lib/config/defaults.ts";
import { FeatureGates } from "../../src/lib/config/feature-gates.ts";
import { applyPodDefaults } from "../../src/lib/model/defaults/pod.ts";
import type { Pod, PodUid } from "../../src/lib/model/pod.ts";
import type { TestNode } from "../node/test-node.ts";
import { type PodSpecInit, podManifest } from "./manifests.ts";
import { waitFor } from "./wait-for.ts";

/** Pods that change without a new UID, as pods of an API server do. */
export class MutablePods implements PodSource {
  readonly name = "api";
  readonly done = Promise.resolve();
  readonly health = () => healthy;
  #emit: (pods: Pod[]) => void = () => {};
  #pods = new Map<string, Pod>();

  async start(_signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    this.#emit = emit;
    this.#notify();
  }

  add(name: string, spec: PodSpecInit): void {
    const pod = applyPodDefaults(JSON.parse(podManifest(name, spec)) as Pod);
    pod.metadata = { name, namespace: "default", uid: randomUUID() as PodUid, generation: 1 };
    this.#pods.set(name, pod);
    this.#notify();
  }

  addPod(pod: Pod): void {
    this.#pods.set(pod.metadata.name, pod);
    this.#notify();
  }

  change(name: string, change: (pod: Pod) => void): void {
    const pod = structuredClone(this.#pods.get(name)!);
    change(pod);
    pod.metadata = { ...pod.metadata, generation: (pod.metadata.generation ?? 0) + 1 };
    this.#pods.set(name, pod);
    this.#notify();
  }

  remove(name: string): void {
    this.#pods.delete(name);
    this.#notify();
  }

  #notify(): void {
    this.#emit([...this.#pods.values()]);
  }
}

/** An agent in this process with these pods. */
export async function startMutablePodsAgent(
  node: Pick<TestNode, "endpoint" | "logDir" | "containerLogDir" | "rootDir" | "cgroupRoot">,
  source: MutablePods,
): Promise<MutablePodsAgent> {
  const config = withDefaults({}, new FeatureGates({}));
  Object.assign(config, {
    containerRuntimeEndpoint: node.endpoint,
    podLogsDir: node.logDir,
    volumePluginDir: join(node.rootDir, "..", "volume-plugins"),
    cgroupRoot: node.cgroupRoot,
    failCgroupV1: false,
    imageGCHighThresholdPercent: 100,
  });
  const hasResolvConf = await access("/etc/resolv.conf").then(
    () => true,
    () => false,
  );
  if (!hasResolvConf) config.resolvConf = "";
  const agent = await startAgent({
    config,
    gates: new FeatureGates({}),
    rootDir: node.rootDir,
    containerLogsDir: node.containerLogDir,
    createsCgroupRoot: true,
    healthPort: 0,
    sources: () => [source],
    clock: systemClock,
    logger: silentLogger,
  });
  return new MutablePodsAgent(agent);
}

export class MutablePodsAgent {
  readonly #agent: Agent;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  waitForPod(name: string, check: (row: PodRow) => void, withinMs?: number): Promise<PodRow> {
    return waitFor(() => {
      const row = this.#agent.overview.rows().find((r) => r.name === name);
      assert.ok(row, `no pod ${name}`);
      check(row);
      return row;
    }, withinMs);
  }

  running(name: string): Promise<PodRow> {
    return this.waitForPod(name, (row) => {
      const [ready, all] = row.ready.split("/");
      assert.deepEqual([row.phase, ready], ["Running", all], row.blockedOn);
    });
  }

  async stop(): Promise<void> {
    await this.#agent.terminatePods({ graceSeconds: 1, withinMs: 30_000 });
    await this.#agent.stop();
  }
}
