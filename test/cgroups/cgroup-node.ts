import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, startAgent } from "../../src/kubelet/agent/agent.ts";
import type { PodSource } from "../../src/kubelet/pipeline/sources/source.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { type Logger, silentLogger } from "../../src/lib/base/logger.ts";
import { withDefaults } from "../../src/lib/config/defaults.ts";
import { FeatureGates } from "../../src/lib/config/feature-gates.ts";
import type { KubeletConfiguration } from "../../src/lib/config/kubelet-configuration.ts";
import type { Pod } from "../../src/lib/model/pod.ts";
import { type FakeRuntime, startFakeRuntime } from "../fake-runtime/fake-runtime.ts";
import { removeDir } from "../node/remove-dir.ts";

export interface CgroupNodeOptions {
  driver: "cgroupfs" | "systemd";
  /** The parent of the node's cgroups; with systemd, the prefix of their slice names. */
  cgroupRoot: string;
  config?: Partial<KubeletConfiguration> | undefined;
  gates?: Record<string, boolean> | undefined;
  /** Where the files about the machine are; /sys unless set. */
  sysDir?: string;
  logger?: Logger;
}

/** An agent with real cgroups and a fake runtime, whose containers have no processes in them. */
export class CgroupNode {
  readonly dir: string;
  readonly cgroupRoot: string;
  readonly #runtime: FakeRuntime;
  readonly #agent: Agent;
  readonly #emit: (pods: Pod[]) => void;

  private constructor(
    dir: string,
    cgroupRoot: string,
    runtime: FakeRuntime,
    agent: Agent,
    emit: (pods: Pod[]) => void,
  ) {
    this.dir = dir;
    this.cgroupRoot = cgroupRoot;
    this.#runtime = runtime;
    this.#agent = agent;
    this.#emit = emit;
  }

  static async start(o: CgroupNodeOptions): Promise<CgroupNode> {
    const dir = await mkdtemp(join(tmpdir(), "cgroup-node-"));
    const runtime = await startFakeRuntime({
      socketPath: join(dir, "cri.sock"),
      events: true,
      cgroupDriver: o.driver,
    });
    const gates = new FeatureGates(o.gates ?? {});
    let emit: (pods: Pod[]) => void = () => {};
    const source: PodSource = {
      name: "applied",
      done: Promise.resolve(),
      async start(_, each) {
        emit = each;
        each([]);
      },
    };
    const agent = await startAgent({
      config: Object.assign(withDefaults({}, gates), {
        containerRuntimeEndpoint: runtime.endpoint,
        podLogsDir: join(dir, "logs"),
        cgroupRoot: o.cgroupRoot,
        cgroupDriver: o.driver,
        failCgroupV1: false,
        imageGCHighThresholdPercent: 100,
        resolvConf: "",
        evictionHard: {},
        ...o.config,
      }),
      gates,
      rootDir: join(dir, "root"),
      containerLogsDir: join(dir, "container-logs"),
      createsCgroupRoot: true,
      sources: () => [source],
      healthPort: 0,
      sysDir: o.sysDir,
      clock: systemClock,
      logger: o.logger ?? silentLogger,
    }).catch(async (error: unknown) => {
      await runtime.close();
      await removeDir(dir);
      throw error;
    });
    return new CgroupNode(dir, o.cgroupRoot, runtime, agent, (pods) => emit(pods));
  }

  /** Replaces the pods that the node should run. */
  run(pods: readonly Pod[]): void {
    this.#emit([...pods]);
  }

  /** Removes everything, except for the cgroups. */
  async stop(): Promise<void> {
    await this.#agent.stop();
    await this.#runtime.close();
    await removeDir(this.dir);
  }
}
