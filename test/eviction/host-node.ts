import { randomFillSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../src/lib/base/errors.ts";
import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import { readMachineInfo } from "../../src/lib/host/node-info.ts";
import { readTaskCounts } from "../../src/lib/host/process-limits.ts";
import type { Container, PodSpec } from "../../src/lib/model/pod.ts";
import { buildImage } from "../../src/single-node/oci-image.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { NodeWithApi } from "../cluster/node-with-api.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import { disk, type EvictionNode, evictionConfig } from "./scenarios.ts";
import { type SmallDisk, smallDisk } from "./small-disk.ts";

/** Pressure takes up to a measurement (10 s) to be seen and a transition period to end; the machine may be busy. */
const withinMs = 180_000;

interface ApiEvent {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

/** A node on this machine, with a small disk for all of its files, and little memory for its pods. */
export class HostEvictionNode implements EvictionNode {
  readonly #node: NodeWithApi;
  readonly #disk: SmallDisk;

  static async start(containerd: ContainerdVersion): Promise<HostEvictionNode> {
    const small = smallDisk(disk);
    try {
      const { max = 0, running = 0 } = await readTaskCounts();
      const { memoryBytes } = await readMachineInfo();
      const config = evictionConfig({ memoryBytes: Number(memoryBytes), freePids: max - running });
      const node = await NodeWithApi.start(containerd, { config, baseDir: small.dir });
      return new HostEvictionNode(node, small);
    } catch (error) {
      small.remove();
      throw error;
    }
  }

  private constructor(node: NodeWithApi, small: SmallDisk) {
    this.#node = node;
    this.#disk = small;
  }

  async destroy(): Promise<void> {
    try {
      await this.#node.destroy();
    } finally {
      this.#disk.remove();
    }
  }

  addPod(name: string, container: Partial<Container>, spec: Partial<PodSpec> = {}): Promise<unknown> {
    return this.#node.addPod(name, container, { nodeName, ...spec });
  }

  pod(name: string) {
    return this.#node.pod(name).catch((error: unknown) => {
      if (error instanceof KubeApiError && error.status === 404) return undefined;
      throw error;
    });
  }

  deletePod(name: string) {
    return this.#node.deletePod(name);
  }

  async condition(type: string): Promise<string | undefined> {
    const { status } = await this.#node.get<{ status: { conditions: { type: string; status: string }[] } }>(
      `/api/v1/nodes/${nodeName}`,
    );
    return status.conditions.find((condition) => condition.type === type)?.status;
  }

  async events(reason: string, pod?: string): Promise<string[]> {
    const { items } = await this.#node.get<{ items: ApiEvent[] }>("/api/v1/events");
    return items
      .filter((e) => e.reason === reason && e.involvedObject.name === (pod ?? nodeName))
      .map(({ message }) => message);
  }

  async running(pod: string): Promise<string[]> {
    return (await this.#node.containersOf(pod)).map(({ id }) => id);
  }

  async importImage(name: string, bytes: number): Promise<void> {
    const data = randomFillSync(Buffer.alloc(bytes));
    const image = buildImage({ names: [name], layers: [[{ type: "file", name: "data", data }]], config: {} });
    const file = join(this.#disk.dir, "..", "image.tar");
    await writeFile(file, image.archive);
    await this.#node.node.ctr(["images", "import", file]);
    await rm(file);
  }

  async images(): Promise<string[]> {
    return (await this.#node.runtime.listImages()).flatMap(({ repoTags }) => repoTags);
  }

  /** Waits for a condition. The error contains the end of the agent's log. */
  async waitFor<T>(check: () => Promise<T> | T): Promise<T> {
    return waitFor(check, withinMs).catch((error: unknown) => {
      const log = this.#node.agent
        .log()
        .split("\n")
        .filter((line) => /[Ee]vict|pressure/.test(line));
      throw new Error(`${messageOf(error)}\n${log.slice(-40).join("\n")}`, { cause: error });
    });
  }

  async killAgent(): Promise<void> {
    await this.#node.agent.end("SIGKILL");
  }

  async startAgent(): Promise<void> {
    this.#node.startAgent();
  }

  async rootFile(name: string): Promise<string> {
    try {
      return readFileSync(join(this.#node.node.rootDir, name), "utf8");
    } catch {
      return "";
    }
  }
}
