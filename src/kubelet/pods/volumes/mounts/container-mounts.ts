import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { errnoOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { PodSandboxConfigInit } from "../../../../lib/clients/cri/cri.ts";
import {
  type DeviceSchema,
  type ImageSpecSchema,
  MountPropagation,
  type MountSchema,
} from "../../../../lib/gen/runtime/v1/api_pb.js";
import type { HangGuard } from "../../../../lib/host/hang-guard.ts";
import { expandVariables } from "../../../../lib/model/env-expansion.ts";
import type { Container, Pod, PodUid, VolumeMount } from "../../../../lib/model/pod.ts";
import { type ImageVolumeSource, imageOf } from "../image/image.ts";
import type { MountedVolume } from "../manager/volume-manager.ts";
import type { SubPaths } from "./sub-paths.ts";

export type MountInit = MessageInitShape<typeof MountSchema>;
export type DeviceInit = MessageInitShape<typeof DeviceSchema>;
export type ImageSpecInit = MessageInitShape<typeof ImageSpecSchema>;

/** Pulls the image of an image volume if needed, and returns its reference for the runtime. */
export type ImageSource = (
  pod: Pod,
  volume: { readonly name: string } & ImageVolumeSource,
  o: MountRequest,
) => Promise<ImageSpecInit>;

export interface MountRequest {
  readonly signal: AbortSignal;
  /** The configuration of the pod's sandbox, to pull images. */
  readonly sandbox: () => Promise<PodSandboxConfigInit>;
}

export interface ContainerMountsOptions {
  readonly mounted: (uid: PodUid, name: string) => MountedVolume | undefined;
  readonly subPaths: Pick<SubPaths, "prepare">;
  readonly guard: Pick<HangGuard, "run">;
  readonly logger: Logger;
  /** True if SELinux is enabled: files of volumes get the label of the pod, unless their plugin excludes it. */
  readonly selinux: boolean;
  /** True if the runtime handler of the pod supports recursive read-only mounts. */
  readonly recursiveReadOnly: (pod: Pod) => boolean;
  /** Without it image volumes cannot be used. */
  readonly imageSource?: ImageSource;
}

/** PATH_MAX of Linux: a longer path cannot be mounted. */
const maxPathBytes = 4096;

type Env = ReadonlyMap<string, string>;

/** The mounts of a container, in the order of its volumeMounts. */
export async function containerMounts(
  pod: Pod,
  container: Container,
  env: Env,
  o: ContainerMountsOptions,
  request: MountRequest,
): Promise<MountInit[]> {
  const mounts: MountInit[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const volume = o.mounted(pod.metadata.uid, mount.name);
    if (volume?.volumeMode !== "Filesystem") throw missing(mount.name, container, "mount");
    const subPath = subPathOf(container, mount, env);
    const image = imageOf(volume.spec.volume);
    const source = image
      ? { image: await pulled(pod, mount.name, image, o, request), imageSubPath: subPath }
      : { hostPath: await hostPathOf(pod, container, index, mount, volume, subPath, o) };
    mounts.push({
      ...source,
      containerPath: mount.mountPath.startsWith("/") ? mount.mountPath : `/${mount.mountPath}`,
      readonly: mount.readOnly === true || volume.spec.readOnly,
      recursiveReadOnly: recursiveReadOnlyOf(mount, o.recursiveReadOnly(pod)),
      selinuxRelabel: o.selinux && isRelabeled(volume),
      propagation: propagationOf(mount),
    });
  }
  return mounts;
}

/** The devices of a container's volumeDevices. */
export async function containerDevices(
  pod: Pod,
  container: Container,
  mounted: ContainerMountsOptions["mounted"],
): Promise<DeviceInit[]> {
  const devices: DeviceInit[] = [];
  for (const { name, devicePath } of container.volumeDevices ?? []) {
    if (!devicePath.startsWith("/"))
      throw new KubeletError("Volume", `error DevicePath \`${devicePath}\` must be an absolute path`);
    const volume = mounted(pod.metadata.uid, name);
    if (volume?.volumeMode !== "Block") throw missing(name, container, "pass");
    const link = await lstat(volume.path).catch((error) => {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    });
    if (!link?.isSymbolicLink()) continue;
    const permissions = volume.spec.readOnly ? "r" : "mrw";
    devices.push({ hostPath: volume.path, containerPath: devicePath, permissions });
  }
  return devices;
}

function missing(volume: string, container: Container, verb: "mount" | "pass"): KubeletError {
  return new KubeletError(
    "Volume",
    `cannot find volume "${volume}" to ${verb} into container "${container.name}"`,
  );
}

function subPathOf(container: Container, mount: VolumeMount, env: Env): string {
  const { subPath = "", subPathExpr } = mount;
  const path = subPathExpr ? expanded(container, mount, subPathExpr, env) : subPath;
  if (path === "") return "";
  if (path.startsWith("/"))
    throw new KubeletError("Volume", `error SubPath \`${path}\` must not be an absolute path`);
  if (path.split("/").includes(".."))
    throw new KubeletError("Volume", `unable to provision SubPath \`${path}\`: must not contain '..'`);
  return path;
}

function expanded(container: Container, mount: VolumeMount, expression: string, env: Env): string {
  const unset = new Set<string>();
  const lookup = (name: string) => {
    const value = env.get(name);
    if (!value) unset.add(name);
    return value ?? "";
  };
  const name = `subPathExpr of volumeMount "${mount.name}" of container "${container.name}"`;
  const text = expandVariables(expression, lookup, { name, maxBytes: maxPathBytes });
  if (unset.size > 0)
    throw new KubeletError(
      "Volume",
      `missing value for ${[...unset].toSorted((a, b) => (a < b ? -1 : 1)).join(", ")}`,
    );
  return text;
}

async function hostPathOf(
  pod: Pod,
  container: Container,
  index: number,
  mount: VolumeMount,
  volume: MountedVolume,
  subPath: string,
  o: ContainerMountsOptions,
): Promise<string> {
  if (subPath === "" || join(subPath) === ".") return volume.path;
  const request = {
    podUid: pod.metadata.uid,
    volume: volume.dirName,
    volumePath: volume.path,
    container: container.name,
    index,
    subPath,
  };
  try {
    // The volume may be on a filesystem that hangs.
    return await o.guard.run(`${volume.path}#${container.name}#${index}`, () => o.subPaths.prepare(request));
  } catch (error) {
    const fields = { podUID: pod.metadata.uid, container: container.name, volume: mount.name };
    o.logger.warn("Failed to prepare subPath", { ...fields, err: messageOf(error) });
    // Details could reveal files of the node to the user.
    const message = `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}"`;
    throw new KubeletError("Volume", message, { cause: error });
  }
}

async function pulled(
  pod: Pod,
  name: string,
  image: ImageVolumeSource,
  { imageSource }: ContainerMountsOptions,
  request: MountRequest,
): Promise<ImageSpecInit> {
  if (!imageSource) throw new KubeletError("Volume", `volume "${name}": image volumes are not available`);
  return imageSource(pod, { name, ...image }, request);
}

function isRelabeled({ plugin, spec, path, label }: MountedVolume): boolean {
  if (plugin.relabels) return plugin.relabels(spec, path, label);
  return plugin.hasDir !== false;
}

function propagationOf({ mountPropagation }: VolumeMount): MountPropagation {
  switch (mountPropagation) {
    case undefined:
    case "None":
      return MountPropagation.PROPAGATION_PRIVATE;
    case "HostToContainer":
      return MountPropagation.PROPAGATION_HOST_TO_CONTAINER;
    case "Bidirectional":
      return MountPropagation.PROPAGATION_BIDIRECTIONAL;
    default:
      throw new KubeletError("Volume", `invalid MountPropagation mode: "${mountPropagation}"`);
  }
}

function recursiveReadOnlyOf(mount: VolumeMount, supported: boolean): boolean {
  const { name, recursiveReadOnly: mode, mountPropagation } = mount;
  if (mode === undefined || mode === "Disabled") return false;
  const invalid = (why: string) =>
    new KubeletError(
      "Volume",
      `failed to resolve recursive read-only mode: volume "${name}" requested recursive read-only mode, but it is not ${why}`,
    );
  if (!mount.readOnly) throw invalid("read-only");
  if (mountPropagation !== undefined && mountPropagation !== "None")
    throw invalid(`compatible with propagation "${mountPropagation}"`);
  if (mode === "IfPossible") return supported;
  if (mode !== "Enabled")
    throw new KubeletError(
      "Volume",
      `failed to resolve recursive read-only mode: unknown recursive read-only mode "${mode}"`,
    );
  if (!supported) throw invalid("supported by the runtime");
  return true;
}
