import { dirname } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";
import type { Pod, PodUid } from "../../../../lib/model/pod.ts";
import type { PodEvents } from "../../../../lib/model/pod-events.ts";
import { ExpansionError } from "../persistent/volume-expander.ts";
import type { DeviceMounter, SetUpRequest } from "../volume-plugin.ts";
import type { BlockMaps } from "./block-maps.ts";
import {
  attachStep,
  inStep,
  mapExpansionStep,
  mountExpansionStep,
  onlineExpansionStep,
  StepError,
} from "./step-error.ts";
import { type DesiredVolume, type DeviceRecord, type VolumeRecord, wantedLabel } from "./volume-state.ts";

export interface OperationsOptions {
  readonly events: PodEvents;
  readonly blockMaps: Pick<BlockMaps, "map" | "unmap">;
  /** Unmounts the subPaths of the volume. */
  readonly cleanSubPaths: (uid: PodUid, volume: string) => Promise<void>;
  /** Creates the directory of a pod's volumes, before a plugin creates its own below with another mode. */
  readonly makeDir?: (dir: string) => Promise<void>;
  /** Removes a plugin's directory in a pod's directory after its last volume. */
  readonly removeIfEmpty?: (dir: string) => Promise<void>;
  /** Resolves with its device when the volume is attached to this node and reported in use, according to the node status; otherwise throws the reason. */
  readonly verifyAttached?:
    | ((
        unique: string,
        signal: AbortSignal,
        /** Runs the request that verifies it. */
        timed: <T>(request: () => Promise<T>) => Promise<T>,
      ) => Promise<string>)
    | undefined;
  /** True if the kubelet attaches and detaches volumes itself (`enableControllerAttachDetach: false`). */
  readonly attaches?: boolean;
  /** Why the nodeAffinity of a PersistentVolume excludes this node. */
  readonly affinityConflict?: ((nodeAffinity: unknown) => string | undefined) | undefined;
}

/** Updates of the actual state while an operation runs. */
export interface DeviceChanges {
  device(unique: string): DeviceRecord | undefined;
  setDevice(device: DeviceRecord): void;
  /** True if another pod uses the same volume. */
  usedElsewhere(record: VolumeRecord): boolean;
  /** Adds a part of an operation to the metrics. */
  measured<T>(record: VolumeRecord | DeviceRecord, name: string, work: () => Promise<T>): Promise<T>;
}

/** The operations that mount and unmount volumes. Each can be repeated at any time. */
export class VolumeOperations {
  readonly #o: OperationsOptions;
  /** The devices of the volumes that this agent has attached, by their unique names. */
  readonly #attached = new Map<string, string>();

  constructor(options: OperationsOptions) {
    this.#o = options;
  }

  async mount(
    record: VolumeRecord,
    desired: DesiredVolume,
    changes: DeviceChanges,
    signal: AbortSignal,
  ): Promise<void> {
    const { plugin, volumeMode } = record;
    const { pod, spec } = desired;
    const label = wantedLabel(record);
    record.mountedLabel = label;
    const verb = volumeMode === "Block" ? "MapVolume" : "MountVolume";
    const last = volumeMode === "Block" ? "MapVolume.SetUpDevice failed" : "MountVolume.SetUp failed";
    await inStep(`${verb}.NodeAffinity check failed`, async () => this.#checkAffinity(desired));
    await inStep(last, async () => checkOnePodOnly(record, desired, changes));
    const device = plugin.device?.applies?.(spec) === false ? undefined : plugin.device;
    const { podUid, dir, unique } = record;
    const isStillSetUp =
      record.actual === "uncertain" && (await plugin.isStillSetUp?.(pod, spec, { podUid, dir }));
    const isNew = !changes.device(unique) && !changes.usedElsewhere(record);
    const measured = <T>(work: () => Promise<T>): Promise<T> =>
      isNew ? changes.measured(record, "verify_controller_attached_volume", work) : work();
    const isAttachable = device !== undefined && device.attachable?.(spec) !== false;
    // Upstream verifies all volumes; only those that a controller attaches take time.
    if (!isAttachable && record.actual === "none") await measured(async () => {});
    if (isAttachable && !isStillSetUp) {
      const step = `${verb}.WaitForAttach failed`;
      let isWaiting = false;
      const verified = async () => {
        // A volume that this agent has mounted is attached.
        if (record.actual === "mounted") return undefined;
        if (this.#o.attaches) return this.#attach(record, desired, device, changes, signal);
        isWaiting = true;
        const path = await this.#o.verifyAttached?.(device.attachName?.(spec) ?? unique, signal, measured);
        isWaiting = false;
        return path;
      };
      try {
        await device.waitForAttach(pod, spec, signal, verified);
      } catch (error) {
        throw error instanceof StepError ? error : new StepError(step, error, isWaiting);
      }
    }
    if (volumeMode === "Block") return this.#map(record, desired, signal);
    const group = fsGroupOf(pod);
    const deviceDir = device?.deviceDir(spec);
    if (device && deviceDir !== undefined && changes.device(record.unique)?.state !== "mounted") {
      const entry: DeviceRecord = {
        unique: record.unique,
        plugin,
        dir: deviceDir,
        spec,
        label,
        state: "uncertain",
        reconstructed: false,
        failure: undefined,
      };
      changes.setDevice(entry); // before the call: an interrupted one may have mounted it
      if (!isStillSetUp)
        await inStep("MountVolume.MountDevice failed", () =>
          device.mountDevice(pod, spec, deviceDir, group.fsGroup, signal, label),
        );
      entry.state = "mounted";
    }
    const request: SetUpRequest = { podUid, dir, pod, spec, ...group, deviceDir, label, signal };
    await inStep(last, async () => {
      if (record.actual !== "mounted") await this.#o.makeDir?.(dirname(dirname(dir)));
      await namingExpansion(record, () => plugin.setUp(request));
    });
  }

  async unmount(record: VolumeRecord, changes: DeviceChanges, signal: AbortSignal): Promise<void> {
    const { plugin, volumeMode, podUid, dir, name } = record;
    const target = { podUid, dir };
    if (volumeMode === "Block") {
      await changes.measured(record, "unmap_volume", async () => {
        await inStep("UnmapVolume.UnmapBlockVolume failed", () => this.#o.blockMaps.unmap(record));
        await inStep("UnmapVolume.UnmapPodDevice failed", async () => plugin.block?.unmap(target, signal));
      });
      const tearDown = () =>
        inStep("UnmapDevice.TearDownDevice failed", async () =>
          plugin.block?.tearDownDevice?.(target, signal, record.spec),
        );
      await (changes.usedElsewhere(record) ? tearDown() : changes.measured(record, "unmap_device", tearDown));
    } else
      await changes.measured(record, "volume_unmount", async () => {
        await inStep("error cleaning subPath mounts", () => this.#o.cleanSubPaths(podUid, name));
        await inStep("UnmountVolume.TearDown failed", () => plugin.tearDown(target, signal));
      });
    await this.#o.removeIfEmpty?.(dirname(dir));
  }

  async unmountDevice(record: DeviceRecord, changes: DeviceChanges, signal: AbortSignal): Promise<void> {
    const { plugin, unique, dir, spec } = record;
    const { device } = plugin;
    await changes.measured(record, "unmount_device", () =>
      inStep("UnmountDevice failed", async () => device?.unmountDevice(dir, signal)),
    );
    if (!this.#o.attaches) return;
    await changes.measured(record, "volume_detach", () =>
      inStep("DetachVolume.Detach failed", async () => device?.detach?.(spec, signal)),
    );
    this.#attached.delete(unique);
  }

  /** Attaches the volume, unless another pod uses it already. Its device is recorded, so that it is detached after the last pod. */
  async #attach(
    volume: VolumeRecord,
    { pod, spec }: DesiredVolume,
    device: DeviceMounter,
    changes: DeviceChanges,
    signal: AbortSignal,
  ): Promise<string> {
    const { unique, plugin, mountedLabel: label } = volume;
    const known = this.#attached.get(unique);
    if (known !== undefined) return known;
    const record = () => {
      if (changes.device(unique)) return;
      const entry = { unique, plugin, dir: device.deviceDir(spec), spec, label };
      changes.setDevice({ ...entry, state: "uncertain", reconstructed: false, failure: undefined });
    };
    // Before the call: an interrupted one may have attached it.
    if (device.detach) record();
    const attached = await changes.measured(volume, "volume_attach", () =>
      inStep(attachStep, async () => device.attach?.(spec, signal)),
    );
    const path = attached ?? "";
    record();
    this.#attached.set(unique, path);
    const message = `AttachVolume.Attach succeeded for volume "${spec.name}" `;
    this.#o.events.normal(pod, "SuccessfulAttachVolume", message);
    return path;
  }

  async #map(record: VolumeRecord, { pod, spec }: DesiredVolume, signal: AbortSignal): Promise<void> {
    const { plugin, podUid, dir } = record;
    const { block } = plugin;
    if (!block)
      await inStep("MapVolume.FindMapperPluginBySpec failed", async () => {
        throw new KubeletError("Volume", "no volume plugin matched");
      });
    const device = await inStep("MapVolume.MapPodDevice failed", async () =>
      namingExpansion(record, () => block!.map(pod, spec, { podUid, dir }, signal)),
    );
    if (device === "")
      await inStep("MapVolume failed", async () => {
        throw new KubeletError("Volume", "device path of the volume is empty");
      });
    const again = record.actual === "mounted";
    await inStep("MapVolume.MapBlockVolume failed", () => this.#o.blockMaps.map(record, device));
    if (again) return;
    const globalDir = block!.globalMapDir?.(record.name, spec);
    for (const detail of [globalDir && `globalMapPath "${globalDir}"`, `volumeMapPath "${dirname(dir)}"`])
      if (detail)
        this.#o.events.normal(
          pod,
          "SuccessfulMountVolume",
          `MapVolume.MapPodDevice succeeded for volume "${record.name}" ${detail}`,
        );
  }

  #checkAffinity({ spec }: DesiredVolume): void {
    const affinity = spec.persistent?.spec.nodeAffinity;
    const conflict = affinity === undefined ? undefined : this.#o.affinityConflict?.(affinity);
    if (conflict !== undefined) throw new KubeletError("Volume", conflict);
  }
}

/** A failed expansion is a step of its own: if the volume is in use, the pod goes on with the old size. */
async function namingExpansion<T>({ actual, volumeMode }: VolumeRecord, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ExpansionError)) throw error;
    const first = volumeMode === "Block" ? mapExpansionStep : mountExpansionStep;
    throw new StepError(actual === "mounted" ? onlineExpansionStep : first, error);
  }
}

function checkOnePodOnly(record: VolumeRecord, { spec }: DesiredVolume, changes: DeviceChanges): void {
  const modes: string[] = spec.persistent?.spec.accessModes ?? [];
  if (modes.length !== 1 || modes[0] !== "ReadWriteOncePod" || !changes.usedElsewhere(record)) return;
  throw new KubeletError(
    "Volume",
    "volume uses the ReadWriteOncePod access mode and is already in use by another pod",
  );
}

function fsGroupOf(pod: Pod): Pick<SetUpRequest, "fsGroup" | "fsGroupChangePolicy"> {
  const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
  return {
    fsGroup: fsGroup ?? undefined,
    fsGroupChangePolicy: fsGroupChangePolicy as SetUpRequest["fsGroupChangePolicy"],
  };
}
