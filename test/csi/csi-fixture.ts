import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { PluginManager } from "../../src/kubelet/plugins/plugin-manager.ts";
import { Attachments } from "../../src/kubelet/pods/volumes/csi/attachments.ts";
import { createCsiMetrics } from "../../src/kubelet/pods/volumes/csi/csi-metrics.ts";
import { CsiNode } from "../../src/kubelet/pods/volumes/csi/csi-node.ts";
import { csiPlugin } from "../../src/kubelet/pods/volumes/csi/csi-plugin.ts";
import { DriverStore } from "../../src/kubelet/pods/volumes/csi/driver-store.ts";
import { kubeSecrets } from "../../src/kubelet/pods/volumes/csi/kube-secrets.ts";
import { CsiRegistration } from "../../src/kubelet/pods/volumes/csi/registration.ts";
import { kubeVolumeApi } from "../../src/kubelet/pods/volumes/persistent/volume-api.ts";
import { VolumeExpander } from "../../src/kubelet/pods/volumes/persistent/volume-expander.ts";
import type { SetUpRequest, VolumePlugin, VolumeSpec } from "../../src/kubelet/pods/volumes/volume-plugin.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import type { CSIDriverSpec } from "../../src/lib/gen/kubernetes/storage.d.ts";
import { mountsBelow, readMounts } from "../../src/lib/host/mount-table.ts";
import { hostMounts } from "../../src/lib/host/mounts.ts";
import { fakePod } from "../../src/lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../src/lib/model/pod.ts";
import type { CsiDriverOptions } from "./csi-driver.ts";
import { DriverProcess } from "./driver-process.ts";
import { StorageApi } from "./storage-api.ts";

export const nodeName = "node-1";
export const nodePath = `/api/v1/nodes/${nodeName}`;
export const csiNodePath = `/apis/storage.k8s.io/v1/csinodes/${nodeName}`;
export const never = new AbortController().signal;

/** The CSI components of an agent, on real sockets and mounts, with an API in memory. */
export class CsiAgent {
  readonly drivers = new DriverStore();
  readonly plugin: VolumePlugin;
  readonly events: string[] = [];
  readonly node: CsiNode;
  readonly #manager: PluginManager;
  readonly #abort = new AbortController();

  constructor(fixture: CsiFixture) {
    const { rootDir, api, objects } = fixture;
    const common = { clock: systemClock, logger: silentLogger };
    const csiDrivers = {
      get: async (driver: string) => objects[driver],
      known: (driver: string) => objects[driver],
      onChange: () => () => {},
    };
    const metrics = createMetrics();
    this.node = new CsiNode({ transport: api, nodeName, ...common });
    const registration = new CsiRegistration({
      drivers: this.drivers,
      node: this.node,
      metrics: createCsiMetrics(metrics),
      ...common,
    });
    const dir = join(rootDir, "plugins_registry");
    this.#manager = new PluginManager({ dir, handlers: { CSIPlugin: registration }, metrics, ...common });
    const note = (_: Pod, reason: string, message: string) => void this.events.push(`${reason} ${message}`);
    this.plugin = csiPlugin({
      rootDir,
      nodeName,
      drivers: this.drivers,
      objects: csiDrivers,
      attachments: new Attachments({ transport: api, nodeName, objects: csiDrivers, clock: systemClock }),
      secrets: kubeSecrets(api),
      tokens: {
        get: async (pod, { audiences }) => ({
          token: `token of ${pod.metadata.name} for ${audiences.join()}`,
          expirationTimestamp: "2026-01-01T01:00:00Z",
        }),
      },
      mounts: hostMounts,
      ownership: {
        apply: async (path, { fsGroup }) => void fixture.ownershipChanges.push(`${path} ${fsGroup}`),
      },
      expander: new VolumeExpander({
        claimEvents: { normal() {}, warning() {} },
        api: kubeVolumeApi(api),
        events: { normal: note, warning: note },
        ...common,
      }),
      logger: silentLogger,
    });
  }

  async start(): Promise<void> {
    await this.node.start(this.#abort.signal);
    await this.#manager.start(this.#abort.signal);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#manager.done;
  }
}

export class CsiFixture {
  readonly rootDir: string;
  readonly api = new StorageApi();
  /** CSIDriver objects. */
  readonly objects: Record<string, CSIDriverSpec> = {};
  /** Paths with the fsGroup that was applied to them. */
  readonly ownershipChanges: string[] = [];
  readonly #agents: CsiAgent[] = [];
  readonly #drivers: DriverProcess[] = [];

  private constructor(rootDir: string) {
    this.rootDir = rootDir;
    this.api.put(nodePath, { kind: "Node", metadata: { name: nodeName, uid: "node-uid" } });
  }

  static async create(): Promise<CsiFixture> {
    return new CsiFixture(await mkdtemp("/tmp/csi-test-"));
  }

  async agent(): Promise<CsiAgent> {
    const agent = new CsiAgent(this);
    this.#agents.push(agent);
    await agent.start();
    return agent;
  }

  driver(name: string, more: Partial<CsiDriverOptions> = {}, object: CSIDriverSpec = {}): DriverProcess {
    this.objects[name] = {
      attachRequired: false,
      fsGroupPolicy: "ReadWriteOnceWithFSType",
      volumeLifecycleModes: ["Persistent", "Ephemeral"],
      ...object,
    };
    const driver = new DriverProcess({
      name,
      stateDir: join(this.rootDir, "state", name),
      endpoint: join(this.rootDir, "plugins", name, "csi.sock"),
      registrationSocket: join(this.rootDir, "plugins_registry", `${name}-reg.sock`),
      ...more,
    });
    this.#drivers.push(driver);
    return driver;
  }

  request(plugin: VolumePlugin, spec: VolumeSpec, more: Partial<SetUpRequest> = {}): SetUpRequest {
    const pod = more.pod ?? fakePod({ metadata: { uid: "pod-1" as PodUid } });
    const podUid = pod.metadata.uid;
    const dir = join(this.rootDir, "pods", podUid, "volumes/kubernetes.io~csi", spec.name);
    const fsGroup = undefined;
    const deviceDir = spec.persistent && plugin.device?.deviceDir(spec);
    return {
      pod,
      podUid,
      dir,
      spec,
      fsGroup,
      fsGroupChangePolicy: undefined,
      deviceDir,
      signal: never,
      ...more,
    };
  }

  async end(): Promise<void> {
    for (const agent of this.#agents) await agent.stop();
    for (const driver of this.#drivers) await driver.kill();
    for (const path of mountsBelow(readMounts(), [this.rootDir])) await hostMounts.unmount(path);
    await rm(this.rootDir, { recursive: true, force: true });
  }

  mounts(): string[] {
    return mountsBelow(readMounts(), [this.rootDir]);
  }
}

/** The spec of a volume of a bound PVC. */
export function persistentSpec(driver: string, name = "pv-1", more: object = {}): VolumeSpec {
  const csi = { driver, volumeHandle: `handle-${name}`, fsType: "tmpfs", volumeAttributes: { color: "red" } };
  return {
    name,
    volume: { name: "data", persistentVolumeClaim: { claimName: "claim" } },
    readOnly: false,
    persistent: {
      volumeName: name,
      spec: { csi, accessModes: ["ReadWriteOnce"], capacity: { storage: "1Mi" }, ...more },
      claim: { namespace: "default", name: "claim", uid: "claim-uid" },
      mode: "Filesystem",
      claimCapacity: "1Mi",
    },
  };
}
