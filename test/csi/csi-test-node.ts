import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { attachmentName } from "../../src/kubelet/pods/volumes/csi/names.ts";
import { detachLoopDevice } from "../../src/lib/host/loop-devices.ts";
import { readMounts } from "../../src/lib/host/mount-table.ts";
import type { Container, Pod, PodSpec } from "../../src/lib/model/pod.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { NodeWithApi, type NodeWithApiOptions } from "../cluster/node-with-api.ts";
import { freePort, get } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import type { CsiDriverOptions } from "./csi-driver.ts";
import { DriverProcess } from "./driver-process.ts";

export interface Claim {
  readonly status: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatedResourceStatuses?: Readonly<Record<string, string>>;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
}

interface Attachment {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly attacher: string; readonly source: { readonly persistentVolumeName?: string } };
}

export const claimsPath = "/api/v1/namespaces/default/persistentvolumeclaims";
const attachmentsPath = "/apis/storage.k8s.io/v1/volumeattachments";
const mergePatch = "application/merge-patch+json";

/** A real agent with a real containerd and the embedded API, and CSI drivers as separate processes. */
export class CsiTestNode {
  readonly apiNode: NodeWithApi;
  readonly #port: number;
  readonly #drivers: DriverProcess[] = [];

  static async start(
    containerd: ContainerdVersion,
    config: object = {},
    more: Pick<NodeWithApiOptions, "flags" | "join"> = {},
  ): Promise<CsiTestNode> {
    const [port, readOnlyPort] = [await freePort(), await freePort()];
    const apiNode = await NodeWithApi.start(containerd, {
      config: {
        enableServer: true,
        address: "127.0.0.1",
        port,
        readOnlyPort,
        // Pods are synced this often, and notice changes of their PVCs.
        syncFrequency: "1s",
        volumeStatsAggPeriod: "1s",
        ...config,
      },
      ...more,
    });
    return new CsiTestNode(apiNode, readOnlyPort);
  }

  private constructor(apiNode: NodeWithApi, port: number) {
    this.apiNode = apiNode;
    this.#port = port;
  }

  get rootDir(): string {
    return this.apiNode.node.rootDir;
  }

  /** Creates a driver and its CSIDriver object, but does not start it. */
  async driver(name: string, object: object, more: Partial<CsiDriverOptions> = {}): Promise<DriverProcess> {
    await this.create("/apis/storage.k8s.io/v1/csidrivers", {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name },
      spec: { attachRequired: false, volumeLifecycleModes: ["Persistent", "Ephemeral"], ...object },
    });
    const driver = new DriverProcess({
      name,
      stateDir: join(this.rootDir, "..", "csi", name),
      endpoint: join(this.rootDir, "plugins", name, "csi.sock"),
      registrationSocket: join(this.rootDir, "plugins_registry", `${name}-reg.sock`),
      ...more,
    });
    this.#drivers.push(driver);
    return driver;
  }

  /** Creates a PVC, and the PersistentVolume of the driver that it is bound to. */
  async claim(driver: string, name: string, spec: object = {}, csi: object = {}): Promise<void> {
    const capacity = { storage: "1Mi" };
    const modes = { accessModes: ["ReadWriteOnce"], volumeMode: "Filesystem", ...spec };
    await this.create("/api/v1/persistentvolumes", {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: `pv-${name}` },
      spec: {
        ...modes,
        capacity,
        persistentVolumeReclaimPolicy: "Retain",
        claimRef: { namespace: "default", name },
        csi: { driver, volumeHandle: `handle-${name}`, fsType: "tmpfs", ...csi },
      },
    });
    await this.create(claimsPath, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name },
      spec: {
        accessModes: modes.accessModes,
        volumeMode: modes.volumeMode,
        volumeName: `pv-${name}`,
        storageClassName: "",
        resources: { requests: capacity },
      },
    });
  }

  /** Creates a pod that mounts the volume at /data. */
  pod(
    name: string,
    volume: object,
    { container = {}, spec = {} }: { container?: Partial<Container>; spec?: Partial<PodSpec> } = {},
  ): Promise<Pod> {
    return this.apiNode.addPod(
      name,
      { volumeMounts: [{ name: "data", mountPath: "/data" }], ...container },
      { volumes: [{ name: "data", ...volume }], ...spec },
    );
  }

  podWithClaim(name: string, more: Parameters<CsiTestNode["pod"]>[2] = {}): Promise<Pod> {
    return this.pod(name, { persistentVolumeClaim: { claimName: name } }, more);
  }

  /** The output of a command in the pod's container. */
  async inside(name: string, command: string): Promise<string> {
    const [container] = await this.apiNode.containersOf(name);
    const { stdout, stderr, exitCode } = await this.apiNode.runtime.execSync(
      container!.id,
      ["sh", "-c", command],
      10,
    );
    if (exitCode !== 0) throw new Error(`${command}: ${Buffer.from(stderr).toString()}`);
    return Buffer.from(stdout).toString().trim();
  }

  async events(pod: string): Promise<string[]> {
    const { items } = await this.apiNode.get<{
      items: { reason: string; message: string; involvedObject: { name: string } }[];
    }>("/api/v1/namespaces/default/events");
    return items
      .filter(({ involvedObject }) => involvedObject.name === pod)
      .map(({ reason, message }) => `${reason}: ${message}`);
  }

  /** Marks each volume of the driver that is to be attached as attached, as a driver's attacher would. */
  async attach(driver: string, status: object = { attached: true }): Promise<string[]> {
    const { items } = await this.apiNode.get<{ items: Attachment[] }>(attachmentsPath);
    const names = items.filter(({ spec }) => spec.attacher === driver).map(({ metadata }) => metadata.name);
    for (const name of names) await this.patch(`${attachmentsPath}/${name}/status`, { status });
    return names;
  }

  attachmentOf(driver: string, claim: string): string {
    return attachmentName(`handle-${claim}`, driver, nodeName);
  }

  /** All mounts of this node's CSI volumes, with their mount IDs. */
  mounts(): { id: number; path: string }[] {
    return readMounts()
      .filter(({ path }) => path.startsWith(`${this.rootDir}/`) && path.includes("kubernetes.io"))
      .filter(({ path }) => path.includes("csi"))
      .map(({ id, path }) => ({ id, path: path.slice(this.rootDir.length) }));
  }

  /** Requests a page of the agent and returns its body. */
  async request(path: string): Promise<string> {
    const response = await get({ host: "127.0.0.1", port: this.#port, path });
    if (response?.status !== 200) throw new Error(`${path}: ${response?.status ?? "no response"}`);
    return response.body;
  }

  /** kill -9 of the agent; resolves when a new one has started. */
  async restartAgent(): Promise<void> {
    await this.apiNode.agent.end("SIGKILL");
    this.apiNode.startAgent();
    await waitFor(async () => {
      if (!(await this.apiNode.agent.pods())) throw new Error("the agent has not started yet");
    });
  }

  create(path: string, body: object): Promise<unknown> {
    return this.apiNode.admin.request({ method: "POST", path, body });
  }

  patch(path: string, body: object): Promise<unknown> {
    return this.apiNode.admin.request({ method: "PATCH", path, body, contentType: mergePatch });
  }

  log(): string {
    return readFileSync(this.apiNode.agent.logFile, "utf8");
  }

  async destroy(): Promise<void> {
    for (const driver of this.#drivers) await driver.kill();
    // A failed test may leave its devices behind.
    const all = readdirSync("/sys/block").map((name) => `/sys/block/${name}/loop/backing_file`);
    const files = all.filter((path) => existsSync(path)).map((path) => readFileSync(path, "utf8").trim());
    for (const file of files.filter((path) => path.startsWith(`${dirname(this.rootDir)}/`)))
      await detachLoopDevice(file).catch(() => {});
    await this.apiNode.destroy();
  }
}
