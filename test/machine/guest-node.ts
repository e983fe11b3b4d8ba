import { basename, dirname } from "node:path";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import { messageOf } from "../../src/lib/base/errors.ts";
import type { OciImage } from "../../src/single-node/oci-image.ts";
import { repoDir } from "../e2e/agent-process.ts";
import { timeoutFactor } from "../timeout-factor.ts";
import { GuestApi } from "./guest-api.ts";
import { guestPaths, kubeletUnit } from "./guest-files.ts";
import {
  type GuestCgroupDriver,
  type GuestRuntimeOptions,
  importImage,
  startRuntime,
} from "./guest-runtime.ts";
import { Machine, type MachineOptions } from "./machine.ts";

export { guestPaths } from "./guest-files.ts";
export type { GuestCgroupDriver } from "./guest-runtime.ts";

export interface GuestNodeOptions extends MachineOptions, GuestRuntimeOptions {
  /** Fields of the KubeletConfiguration that differ from `kubeletConfig`. */
  readonly config?: Record<string, unknown>;
  readonly flags?: readonly string[];
  /** With an API server, which runs on the host. Otherwise the node has static pods only. */
  readonly withApi?: boolean;
  /** Another kubelet than the built one: an executable of the host. */
  readonly kubelet?: string;
  /** Runs before containerd starts, for example to mount a small filesystem. */
  readonly prepare?: (machine: Machine) => Promise<void>;
  /** Whether to start the kubelet; the default is true. */
  readonly startKubelet?: boolean;
}

/** The host name of the guest. */
const guestNodeName = "machine";

const checkEveryMs = 300;

/** A node in a guest as an administrator would set it up: containerd, CNI and the kubelet are services of systemd. */
export class GuestNode {
  readonly machine: Machine;
  readonly driver: GuestCgroupDriver;
  readonly #program: string;
  #api: GuestApi | undefined;
  #unit: string | undefined;

  private constructor(machine: Machine, { driver, kubelet }: GuestNodeOptions) {
    this.machine = machine;
    this.driver = driver;
    this.#program = kubelet ? `/kubelet/${basename(kubelet)}` : `${guestPaths.project}/bin/kubelet`;
  }

  /** Boots a guest, and starts containerd and the agent in it. */
  static async start(options: GuestNodeOptions): Promise<GuestNode> {
    const machine = await Machine.boot(options);
    const node = new GuestNode(machine, options);
    try {
      await options.prepare?.(machine);
      await machine.sh(`mkdir -p ${guestPaths.manifests}`);
      await machine.mountHost(repoDir, guestPaths.project);
      if (options.kubelet) await machine.mountHost(dirname(options.kubelet), "/kubelet");
      await startRuntime(machine, options);
      if (options.withApi) await node.#startApi();
      await node.configure(options.config, options.flags);
      if (options.startKubelet ?? true) await node.startAgent();
      return node;
    } catch (error) {
      const log = await node.log().catch(String);
      await node.stop();
      throw new Error(`no node in the machine: ${log}`, { cause: error });
    }
  }

  get api(): GuestApi {
    if (!this.#api) throw new Error("this node was started without an API server");
    return this.#api;
  }

  /** Writes the configuration and the unit of the agent, which the next start reads. */
  async configure(config: Record<string, unknown> = {}, flags: readonly string[] = []): Promise<void> {
    const content = {
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      cgroupDriver: this.driver,
      staticPodPath: guestPaths.manifests,
      containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
      imageGCHighThresholdPercent: 100,
      enableServer: false,
      ...config,
    };
    const all = this.#api ? [`--kubeconfig=${guestPaths.kubeconfig}`, ...flags] : flags;
    await this.machine.write(guestPaths.config, JSON.stringify(content));
    const unit = kubeletUnit(this.#program, guestPaths, all);
    if (unit === this.#unit) return;
    await this.machine.write("/etc/systemd/system/kubelet.service", unit);
    // systemd finds a new unit on its own, and reloading takes seconds.
    if (this.#unit !== undefined) await this.machine.sh("systemctl daemon-reload");
    this.#unit = unit;
  }

  /** Resolves when the agent has notified systemd that it is ready. */
  async startAgent(): Promise<void> {
    await this.machine.sh("systemctl start kubelet");
  }

  async stopAgent(): Promise<void> {
    await this.machine.sh("systemctl stop kubelet");
  }

  /** Without a chance to clean up. systemd does not start it again. */
  async killAgent(): Promise<void> {
    await this.machine.sh("systemctl kill --signal=SIGKILL kubelet; systemctl stop kubelet");
  }

  place(name: string, manifest: string): Promise<void> {
    return this.machine.write(`${guestPaths.manifests}/${name}.yaml`, manifest);
  }

  async remove(name: string): Promise<void> {
    await this.machine.sh(`rm ${guestPaths.manifests}/${name}.yaml`);
  }

  /** The pods as `kubelet pods -o json` would show them. */
  async pods(): Promise<PodRow[]> {
    return (JSON.parse(await this.get("/pods")) as { pods: PodRow[] }).pods;
  }

  /** The static pod of a manifest. Its name ends with the name of the node. */
  async pod(name: string): Promise<PodRow | undefined> {
    return (await this.pods()).find((row) => row.name === `${name}-${guestNodeName}`);
  }

  /** A request to the agent's local API. */
  get(path: string): Promise<string> {
    return this.machine.sh(
      `curl -sS --fail-with-body --max-time 20 --unix-socket ${guestPaths.socket} http://kubelet${path}`,
    );
  }

  ctr(args: string): Promise<string> {
    return this.machine.sh(`ctr --namespace k8s.io ${args}`);
  }

  importImage(image: OciImage): Promise<void> {
    return importImage(this.machine, image);
  }

  /** The log of the agent and of containerd, for the message of a failed test. */
  async log(): Promise<string> {
    return `${await this.machine.journal("kubelet", 60)}\n${await this.machine.journal("containerd", 20)}`;
  }

  /** Resolves as soon as the assertions hold. When they do not in time, throws the last failure with the log of the agent. */
  async waitFor<T>(check: () => Promise<T> | T, withinMs = 120_000): Promise<T> {
    const deadline = Date.now() + withinMs * timeoutFactor;
    for (;;) {
      const started = Date.now();
      try {
        return await check();
      } catch (error) {
        if (Date.now() > deadline)
          throw new Error(`${messageOf(error)}\n${await this.log()}`, { cause: error });
      }
      // A check that runs in the guest takes time of its only processor: most of it is left to the node.
      const pauseMs = Math.max(checkEveryMs, 3 * (Date.now() - started));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  async stop(): Promise<void> {
    await this.#api?.stop();
    await this.machine.powerOff();
  }

  async #startApi(): Promise<void> {
    this.#api = await GuestApi.start(this.machine.network.hostAddress, guestNodeName);
    await this.machine.write(guestPaths.kubeconfig, await this.#api.nodeKubeconfig());
  }
}
