import { join } from "node:path";
import { after, before } from "node:test";
import type { PodRow } from "../../src/kubelet/agent/pod-overview.ts";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import type { ContainerStatus } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, podsOf } from "./agent-pods.ts";
import { AgentProcess, runtimeClient } from "./agent-process.ts";
import { type PodSpecInit, place, podManifest } from "./manifests.ts";
import { WatchedPods } from "./watched-pods.ts";

export interface Life {
  readonly node: TestNode;
  readonly agent: AgentProcess;
  readonly runtime: CriClient;
  readonly pods: ReturnType<typeof podsOf>;
  readonly watched: WatchedPods;
  /** Writes a pod into the manifest directory. */
  run(name: string, spec: PodSpecInit): void;
  /** A container as the runtime has it. */
  inRuntime(row: PodRow, container?: string): Promise<ContainerStatus>;
  /** Runs a shell line in a container; resolves with its output. */
  inside(row: PodRow, script: string, container?: string): Promise<string>;
  /** The process of a container, as the host sees it. */
  pidOf(row: PodRow, container?: string): Promise<number>;
}

export const sh = (script: string) => ["sh", "-c", script];

/**
 * An agent on each version of containerd, with all pods of the suite started together: they run in parallel, and each
 * test waits for its own.
 */
export function describeLifecycle(
  title: string,
  pods: (life: Life) => Record<string, PodSpecInit> | Promise<Record<string, PodSpecInit>>,
  suite: (life: Life) => void,
  config: Record<string, unknown> = {},
): void {
  describeOnContainerd(title, (version) => {
    const life = {} as { -readonly [K in keyof Life]: Life[K] };
    before(async () => {
      life.node = await startTestNode({ containerd: version });
      life.agent = await AgentProcess.create(life.node, config);
      life.runtime = runtimeClient(life.node.endpoint);
      life.pods = podsOf(life.agent);
      life.run = (name, spec) => place(life.node.manifests, `${name}.json`, podManifest(name, spec));
      life.inRuntime = async (row, container) =>
        (await life.runtime.containerStatus(containerIdOf(row, container) as ContainerId)).status!;
      life.inside = async (row, script, container) => {
        const id = containerIdOf(row, container) as ContainerId;
        const { stdout } = await life.runtime.execSync(id, sh(script), 10);
        return Buffer.from(stdout).toString();
      };
      life.pidOf = async (row, container) => {
        const tasks = await life.node.ctr(["tasks", "list"]);
        return Number(tasks.match(`${containerIdOf(row, container)}\\s+(\\d+)`)?.[1]);
      };
      for (const [name, spec] of Object.entries(await pods(life))) life.run(name, spec);
      life.watched = new WatchedPods(join(life.node.rootDir, "kubelet.sock"));
      life.watched.start();
      life.agent.start();
    });
    after(async () => {
      life.watched?.stop();
      life.runtime?.close();
      await life.agent?.destroy();
    });
    suite(life);
  });
}
