import { busyboxImage, type OciImage, pauseImage, pauseImageName } from "../../src/single-node/oci-image.ts";
import { findProgram } from "../../src/single-node/requirements.ts";
import { busyboxName, type ContainerdVersion } from "../node/test-node.ts";
import { containerdToml, guestPaths, networkConflist } from "./guest-files.ts";
import type { Machine } from "./machine.ts";

export type GuestCgroupDriver = "cgroupfs" | "systemd";

export interface GuestRuntimeOptions {
  /** The cgroup driver of containerd and the agent. */
  readonly driver: GuestCgroupDriver;
  /** The default is 1.6, which the guest's Debian has. */
  readonly containerd?: ContainerdVersion;
  /** Besides pause and busybox. */
  readonly images?: readonly OciImage[];
}

/** Configures the pod network and containerd, starts it, and imports pause, busybox and the other images. */
export async function startRuntime(machine: Machine, o: GuestRuntimeOptions): Promise<void> {
  const { driver, containerd = "1.6", images = [] } = o;
  await machine.sh("modprobe -a overlay bridge veth br_netfilter");
  await machine.write("/etc/cni/net.d/10-bridge.conflist", networkConflist);
  const config = containerdToml({ systemdCgroup: driver === "systemd", pauseImage: pauseImageName });
  await machine.write("/etc/containerd/config.toml", config);
  if (containerd === "2.x") await machine.sh(replacePrograms);
  await machine.sh("systemctl start containerd");
  const busybox = await busyboxImage({ busybox: findProgram("busybox")!, names: [busyboxName] });
  for (const image of [pauseImage(), busybox, ...images]) await importImage(machine, image);
}

/** The programs of the host's cache in place of those of the guest: the unit and all paths stay the same. */
const replacePrograms = ["containerd", "containerd-shim-runc-v2", "ctr"]
  .map((name) => `mount --bind ${guestPaths.project}/.cache/containerd-2/usr/bin/${name} /usr/bin/${name}`)
  .join(" && ");

export async function importImage(machine: Machine, image: OciImage): Promise<void> {
  const file = `/run/image-${image.digest.slice(-12)}.tar`;
  await machine.write(file, image.archive);
  await machine.sh(`ctr --namespace k8s.io images import ${file} >/dev/null && rm ${file}`);
}
