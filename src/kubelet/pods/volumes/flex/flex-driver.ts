import { rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { filesystemSpace } from "../../../../lib/host/disk-usage.ts";
import { entryExists, listDir } from "../../../../lib/host/entries.ts";
import type { HangGuard } from "../../../../lib/host/hang-guard.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { Mounts } from "../../../../lib/host/mounts.ts";
import { pathElement } from "../../../../lib/host/path-element.ts";
import type { Commands } from "../../../../lib/host/system-commands.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import { wholeUnits } from "../../../../lib/model/quantity.ts";
import type { VolumeExpander } from "../persistent/volume-expander.ts";
import type { DiskMountOptions } from "../tools/disk-mount.ts";
import { formatAndMount } from "../tools/format-and-mount.ts";
import { growFilesystem } from "../tools/grow-filesystem.ts";
import { rejectWhileMounted } from "../tools/mount-references.ts";
import type { DeviceMounter, SetUpRequest, VolumePlugin, VolumeSpec } from "../volume-plugin.ts";
import { callDriver, type DriverCapabilities, type DriverStatus, notSupported } from "./driver-call.ts";
import { flexSourceOf, optionsFor, podOptions, specOf } from "./flex-source.ts";

export interface FlexOptions extends Pick<DiskMountOptions, "ownership" | "logger"> {
  readonly rootDir: string;
  readonly nodeName: string;
  readonly mounts: Pick<Mounts, "mount" | "bind" | "unmount" | "isMountPoint" | "list">;
  readonly commands: Commands;
  readonly guard: Pick<HangGuard, "run">;
  /** Base64 values of a secret, which must have the type of the driver. */
  readonly secrets: {
    get(
      ref: { readonly namespace: string; readonly name: string },
      type: string,
      signal: AbortSignal,
    ): Promise<Readonly<Record<string, string>>>;
  };
  /** Undefined without a cluster: volumes are not expanded. */
  readonly expander?: VolumeExpander | undefined;
  readonly logger: Logger;
}

/** A driver of flexVolumes: a program of an administrator, and the volume plugin that calls it. */
export class FlexDriver {
  /** "vendor/driver" */
  readonly name: string;
  readonly plugin: VolumePlugin;
  readonly #o: FlexOptions;
  readonly #executable: string;
  readonly #mountsDir: string;
  readonly #unsupported = new Set<string>();
  /** The device of each volume that is attached. */
  readonly #devices = new Map<string, string>();
  #capabilities: DriverCapabilities | undefined;

  /** `dir` is the driver's directory: `<volumePluginDir>/vendor~driver`. */
  constructor(options: FlexOptions, dir: string) {
    this.#o = options;
    this.name = basename(dir).replaceAll("~", "/");
    this.#executable = join(dir, basename(this.name));
    this.#mountsDir = join(options.rootDir, "plugins/kubernetes.io/flexvolume", this.name, "mounts");
    this.plugin = this.#createPlugin();
  }

  /** Calls `init` of the driver: when the driver is found, and again after it was replaced. */
  async init(signal: AbortSignal): Promise<void> {
    this.#unsupported.clear();
    const { commands } = this.#o;
    const status = await callDriver(commands, this.#executable, "init", [], signal);
    if (status === notSupported) throw new KubeletError("FlexVolume", "Not supported");
    this.#capabilities = status.capabilities;
  }

  async #call(
    command: string,
    args: readonly string[],
    signal: AbortSignal,
  ): Promise<DriverStatus | typeof notSupported> {
    if (this.#unsupported.has(command)) return notSupported;
    const status = await callDriver(this.#o.commands, this.#executable, command, args, signal);
    if (status === notSupported) this.#unsupported.add(command);
    return status;
  }

  #createPlugin(): VolumePlugin {
    const { mounts, guard, expander } = this.#o;
    return {
      name: this.name,
      handles: (spec) => flexSourceOf(spec)?.driver === this.name,
      // Drivers with device mounts: the name by which the controller attaches the volume.
      uniqueName: (pod, spec) =>
        `${this.name}/${this.#capabilities?.attach ? "" : `${pod.metadata.uid}-`}${spec.name}`,
      relabels: (spec) => !spec.readOnly && this.#capabilities?.selinuxRelabel === true,
      requiresRemountNow: (spec) =>
        this.#capabilities?.requiresFSResize === true && (expander?.mayBeNeeded(spec) ?? false),
      setUp: (request) => this.#setUp(request),
      tearDown: async ({ dir }, signal) => {
        if (!(await entryExists(dir))) return;
        const done = await this.#call("unmount", [dir], signal);
        if (done === notSupported) await mounts.unmount(dir);
        await removeDir(dir);
      },
      stats: async ({ dir }) =>
        this.#capabilities?.supportsMetrics ? guard.run(dir, () => filesystemSpace(dir)) : undefined,
      device: this.#createDevice(),
      reconstruct: async ({ dir }) => specOf(this.name, basename(dir)),
    };
  }

  #createDevice(): DeviceMounter {
    const { mounts, nodeName, rootDir } = this.#o;
    return {
      applies: () => this.#capabilities?.attach === true,
      attach: async (spec, signal) => {
        const done = await this.#call("attach", [optionsFor(spec), nodeName], signal);
        return done === notSupported ? "" : done.device;
      },
      detach: async (spec, signal) => {
        await this.#call("detach", [spec.name, nodeName], signal);
      },
      waitForAttach: async (_pod, spec, signal, verified) => {
        const attached = (await verified?.()) ?? this.#devices.get(spec.name) ?? "";
        const done = await this.#call("waitforattach", [attached, optionsFor(spec)], signal);
        this.#devices.set(spec.name, done === notSupported ? attached : done.device);
      },
      deviceDir: (spec) => join(this.#mountsDir, pathElement(spec.name)),
      mountDevice: (_pod, spec, dir, _fsGroup, signal) => this.#mountDevice(spec, dir, signal),
      unmountDevice: async (dir, signal) => {
        if (!(await entryExists(dir))) return;
        rejectWhileMounted(mounts.list(), dir, rootDir);
        if (await mounts.isMountPoint(dir)) {
          const done = await this.#call("unmountdevice", [dir], signal);
          if (done === notSupported) await mounts.unmount(dir);
        }
        await removeDir(dir);
      },
      reconstructDevices: async () => {
        const names = await listDir(this.#mountsDir);
        return names.map((name) => {
          const spec = specOf(this.name, name);
          return { unique: `${this.name}/${name}`, dir: join(this.#mountsDir, name), spec };
        });
      },
    };
  }

  async #mountDevice(spec: VolumeSpec, dir: string, signal: AbortSignal): Promise<void> {
    const { mounts, expander } = this.#o;
    // The volume was not in use on this node: the recorded size is outdated.
    if (spec.persistent) expander?.resetSize(spec.persistent.volumeName);
    if (await mounts.isMountPoint(dir)) return;
    await makeDirs(dir, 0o750);
    const device = this.#devices.get(spec.name) ?? "";
    const done = await this.#call("mountdevice", [dir, device, optionsFor(spec)], signal);
    if (done !== notSupported || device === "") return;
    const options = [spec.readOnly ? "ro" : "rw"];
    await formatAndMount(this.#o, device, dir, flexSourceOf(spec)?.fsType, options, signal);
  }

  async #setUp(request: SetUpRequest): Promise<void> {
    const { pod, spec, dir, signal } = request;
    if (!(await this.#o.mounts.isMountPoint(dir))) {
      await makeDirs(dir, 0o750);
      try {
        await this.#mount(request);
      } catch (error) {
        await rmdir(dir).catch(() => {});
        throw error;
      }
      await this.#setGroup(request);
    }
    const { expander } = this.#o;
    if (!expander || !spec.persistent || this.#capabilities?.requiresFSResize !== true) return;
    const grow = (size: string) => this.#grow(spec, dir, size, signal);
    if (expander.mayBeNeeded(spec)) await expander.expandIfNeeded(pod, spec, grow, signal);
    expander.markInUse(spec);
  }

  async #mount({ pod, spec, dir, fsGroup, deviceDir, signal }: SetUpRequest): Promise<void> {
    const options = podOptions(pod, fsGroup, await this.#secretOf(pod, spec, signal));
    const done = await this.#call("mount", [dir, optionsFor(spec, options)], signal);
    if (done !== notSupported) return;
    if (deviceDir === undefined) throw new KubeletError("FlexVolume", "Not supported");
    await this.#o.mounts.bind(deviceDir, dir);
  }

  async #setGroup(request: SetUpRequest): Promise<void> {
    const { spec, dir, fsGroup, signal } = request;
    if (spec.readOnly || fsGroup === undefined || !this.#capabilities?.fsGroup) return;
    await this.#o.ownership.apply(dir, { ...request, fsGroup }).catch((error: unknown) => {
      signal.throwIfAborted();
      this.#o.logger.warn("Failed to set group ownership of volume", { path: dir, err: messageOf(error) });
    });
  }

  async #secretOf(
    pod: Pod,
    spec: VolumeSpec,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>> {
    const { name, namespace: other } = flexSourceOf(spec)?.secretRef ?? {};
    if (!name) return {};
    const namespace = (spec.persistent && other) || pod.metadata.namespace;
    try {
      return await this.#o.secrets.get({ namespace, name }, this.name, signal);
    } catch (error) {
      signal.throwIfAborted();
      const message = `couldn't get secret ${namespace}/${name} err: ${messageOf(error)}`;
      throw new KubeletError("FlexVolume", message, { cause: error });
    }
  }

  async #grow(spec: VolumeSpec, dir: string, size: string, signal: AbortSignal): Promise<void> {
    const device = this.#devices.get(spec.name) ?? "";
    const sizes = [size, spec.persistent?.claimCapacity ?? "0"].map((quantity) => bytesOf(quantity));
    const done = await this.#call("expandfs", [optionsFor(spec), device, dir, ...sizes], signal);
    if (done === notSupported) await growFilesystem(this.#o.commands, device, dir, signal);
  }
}

function bytesOf(quantity: string): string {
  return String(wholeUnits(quantity));
}

async function removeDir(dir: string): Promise<void> {
  await rmdir(dir).catch((error) => {
    if (errnoOf(error) !== "ENOENT") throw error;
  });
}
