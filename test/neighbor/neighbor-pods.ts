import { join } from "node:path";
import { messageOf } from "../../src/lib/base/errors.ts";
import type { CriClient, PodSandboxConfigInit, SandboxId } from "../../src/lib/clients/cri/cri.ts";
import type { LocalNode } from "../../src/single-node/local-node.ts";

const namespaceModePod = 0;
const firstHostPort = 19_000;
/** How many run at a time; each new pod replaces the oldest. */
const maxPods = 3;

/** Pods that are created and removed continuously, without a kubelet: on their own network, some with a host port, some with the machine's root mounted. */
export class NeighborPods {
  readonly #cri: CriClient;
  readonly #node: LocalNode;
  readonly #sandboxes: SandboxId[] = [];
  readonly errors: string[] = [];
  created = 0;
  removed = 0;

  constructor(cri: CriClient, node: LocalNode) {
    this.#cri = cri;
    this.#node = node;
  }

  async createNext(): Promise<void> {
    try {
      await this.#create(this.created++);
    } catch (error) {
      this.errors.push(`create a pod: ${messageOf(error)}`);
    }
    if (this.#sandboxes.length >= maxPods) await this.#removeOldest();
  }

  async removeAll(): Promise<void> {
    while (this.#sandboxes.length > 0) await this.#removeOldest();
  }

  async #create(number: number): Promise<void> {
    const name = `other-${number}`;
    const portMappings =
      number % 2 === 0
        ? [{ protocol: 0, containerPort: 80, hostPort: firstHostPort + (number % 100), hostIp: "" }]
        : [];
    const config: PodSandboxConfigInit = {
      metadata: { name, uid: name, namespace: "neighbor", attempt: 0 },
      hostname: name,
      logDirectory: join(this.#node.files.podLogs, name),
      portMappings,
      linux: {
        cgroupParent: join(this.#node.cgroupRoot, name),
        securityContext: { namespaceOptions: { network: namespaceModePod, pid: namespaceModePod } },
      },
    };
    const sandbox = await this.#cri.runPodSandbox(config, "");
    this.#sandboxes.push(sandbox);
    // Like a monitoring agent, the container has a copy of every mount of the machine.
    const mounts = number % 3 === 0 ? [{ hostPath: "/", containerPath: "/host", readonly: true }] : [];
    const container = await this.#cri.createContainer(
      sandbox,
      {
        metadata: { name: "main", attempt: 0 },
        image: { image: this.#node.images.demo },
        command: number % 5 === 0 ? ["true"] : ["sleep", "100000"],
        logPath: "main.log",
        mounts,
      },
      config,
    );
    await this.#cri.startContainer(container);
  }

  async #removeOldest(): Promise<void> {
    const sandbox = this.#sandboxes.shift()!;
    try {
      await this.#cri.stopPodSandbox(sandbox);
      await this.#cri.removePodSandbox(sandbox);
      this.removed++;
    } catch (error) {
      this.errors.push(`remove a pod: ${messageOf(error)}`);
    }
  }
}
