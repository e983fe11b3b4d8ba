import type { PodRow } from "../../src/kubelet/agent/pod-overview.ts";
import { busyboxImage, type OciImage, pauseImage, pauseImageName } from "../../src/single-node/oci-image.ts";
import { findProgram } from "../../src/single-node/requirements.ts";
import { repoDir } from "../e2e/agent-process.ts";
import { busyboxName } from "../node/test-node.ts";
import { containerdToml, kubeletUnit, networkConflist } from "./guest-files.ts";
import { Machine, type MachineOptions } from "./machine.ts";

export type GuestCgroupDriver = "cgroupfs" | "systemd";

export interface GuestNodeOptions extends MachineOptions {
  /** Of containerd and of the agent. */
  readonly driver: GuestCgroupDriver;
  /** Fields of the KubeletConfiguration that differ from those of `kubeletConfig`. */
  readonly config?: Record<string, unknown>;
  readonly flags?: readonly string[];
  /** Besides pause and busybox. */
  readonly images?: readonly OciImage[];
  /** Runs before containerd starts, for example to mount a small file system. */
  readonly prepare?: (machine: Machine) => Promise<void>;
}

export const guestPaths = {
  project: "/project",
  config: "/etc/kubernetes/kubelet.json",
  manifests: "/etc/kubernetes/manifests",
  root: "/var/lib/kubelet",
  socket: "/var/lib/kubelet/kubelet.sock",
} as const;

/** A node in a guest as an administrator would set it up: containerd, CNI and the kubelet are services of systemd. */
export class GuestNode {
  readonly machine: Machine;
  readonly driver: GuestCgroupDriver;

  private constructor(machine: Machine, driver: GuestCgroupDriver) {
    this.machine = machine;
    this.driver = driver;
  }

  /** Boots a guest, and starts containerd and the agent in it. */
  static async start(options: GuestNodeOptions): Promise<GuestNode> {
    const machine = await Machine.boot(options);
    const node = new GuestNode(machine, options.driver);
    try {
      await options.prepare?.(machine);
      await node.#network();
      await node.#runtime(options.images ?? []);
      await node.configure(options.config, options.flags);
      await node.startAgent();
      return node;
    } catch (error) {
      const log = await node.log().catch(String);
      await machine.powerOff();
      throw new Error(`no node in the machine: ${log}`, { cause: error });
    }
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
    await this.machine.write(guestPaths.config, JSON.stringify(content));
    await this.machine.write("/etc/systemd/system/kubelet.service", kubeletUnit(guestPaths, flags));
    await this.machine.sh(`mkdir -p ${guestPaths.manifests} && systemctl daemon-reload`);
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

  /** The static pod of a manifest, whose name has that of the node at its end. */
  async pod(name: string): Promise<PodRow | undefined> {
    return (await this.pods()).find((row) => row.name === `${name}-machine`);
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

  async importImage(image: OciImage): Promise<void> {
    const file = `/run/image-${image.digest.slice(-12)}.tar`;
    await this.machine.write(file, image.archive);
    await this.ctr(`images import ${file} >/dev/null && rm ${file}`);
  }

  /** The log of the agent and of containerd, for the message of a failed test. */
  async log(): Promise<string> {
    return `${await this.machine.journal("kubelet", 60)}\n${await this.machine.journal("containerd", 20)}`;
  }

  async stop(): Promise<void> {
    await this.machine.powerOff();
  }

  /** An address and a default route, though nothing is behind it, and what the pods' bridge needs. */
  async #network(): Promise<void> {
    await this.machine.sh(`set -e
      modprobe -a overlay bridge veth br_netfilter dummy
      ip link set lo up
      ip link add node0 type dummy
      ip address add 192.0.2.10/24 dev node0
      ip link set node0 up
      ip route add default via 192.0.2.1
      mkdir -p /etc/cni/net.d`);
    await this.machine.write("/etc/cni/net.d/10-bridge.conflist", networkConflist);
  }

  async #runtime(images: readonly OciImage[]): Promise<void> {
    const config = containerdToml({ systemdCgroup: this.driver === "systemd", pauseImage: pauseImageName });
    await this.machine.write("/etc/containerd/config.toml", config);
    await this.machine.mountHost(repoDir, guestPaths.project);
    await this.machine.sh("systemctl start containerd");
    const busybox = busyboxImage({ busybox: findProgram("busybox")!, names: [busyboxName] });
    for (const image of [pauseImage(), busybox, ...images]) await this.importImage(image);
  }
}
