import { join } from "node:path";
import { after, before } from "node:test";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import type { ContainerId, CriClient } from "../../src/lib/clients/cri/cri.ts";
import type { ContainerStatus } from "../../src/lib/gen/runtime/v1/api_pb.js";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { startTestNode, type TestNode } from "../node/test-node.ts";
import { containerIdOf, podsOf } from "./agent-pods.ts";
import { AgentProcess, runtimeClient } from "./agent-process.ts";
import { type PodSpecInit, podManifest, writeManifest } from "./manifests.ts";
import { WatchedPods } from "./watched-pods.ts";

export interface LifecycleSuite {
  readonly node: TestNode;
  readonly agent: AgentProcess;
  readonly runtime: CriClient;
  readonly pods: ReturnType<typeof podsOf>;
  readonly watched: WatchedPods;
  /** Writes a pod into the manifest directory. */
  run(name: string, spec: PodSpecInit): void;
  /** The status of a container in the runtime. */
  inRuntime(row: PodRow, container?: string): Promise<ContainerStatus>;
  /** Runs a shell line in a container; resolves with its output. */
  inside(row: PodRow, script: string, container?: string): Promise<string>;
  /** The process of a container, as the host sees it. */
  pidOf(row: PodRow, container?: string): Promise<number>;
}

export const sh = (script: string) => ["sh", "-c", script];

/**
 * Starts an agent on each version of containerd, and all pods of the suite at the same time. Each test waits for its own
 * pods.
 */
export function describeLifecycle(
  title: string,
  pods: (suite: LifecycleSuite) => Record<string, PodSpecInit> | Promise<Record<string, PodSpecInit>>,
  tests: (suite: LifecycleSuite) => void,
  config: Record<string, unknown> = {},
): void {
  describeOnContainerd(title, (version) => {
    const suite = {} as { -readonly [K in keyof LifecycleSuite]: LifecycleSuite[K] };
    before(async () => {
      suite.node = await startTestNode({ containerd: version });
      suite.agent = await AgentProcess.create(suite.node, config);
      suite.runtime = runtimeClient(suite.node.endpoint);
      suite.pods = podsOf(suite.agent);
      suite.run = (name, spec) =>
        writeManifest(suite.node.manifests, `${name}.json`, podManifest(name, spec));
      suite.inRuntime = async (row, container) =>
        (await suite.runtime.containerStatus(containerIdOf(row, container) as ContainerId)).status!;
      suite.inside = async (row, script, container) => {
        const id = containerIdOf(row, container) as ContainerId;
        const { stdout } = await suite.runtime.execSync(id, sh(script), 10);
        return Buffer.from(stdout).toString();
      };
      suite.pidOf = async (row, container) => {
        const tasks = await suite.node.ctr(["tasks", "list"]);
        return Number(tasks.match(`${containerIdOf(row, container)}\\s+(\\d+)`)?.[1]);
      };
      for (const [name, spec] of Object.entries(await pods(suite))) suite.run(name, spec);
      suite.watched = new WatchedPods(join(suite.node.rootDir, "kubelet.sock"));
      suite.watched.start();
      suite.agent.start();
    });
    after(async () => {
      suite.watched?.stop();
      suite.runtime?.close();
      await suite.agent?.destroy();
    });
    tests(suite);
  });
}
