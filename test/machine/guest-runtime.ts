import { busyboxImage, type OciImage, pauseImage, pauseImageName } from "../../src/single-node/oci-image.ts";
import { findProgram } from "../../src/single-node/requirements.ts";
import { busyboxName } from "../node/test-node.ts";
import { containerdToml, networkConflist } from "./guest-files.ts";
import type { Machine } from "./machine.ts";

export type GuestCgroupDriver = "cgroupfs" | "systemd";

/** Configures the pod network and containerd, starts it, and imports pause, busybox and the other images. */
export async function startRuntime(
  machine: Machine,
  driver: GuestCgroupDriver,
  images: readonly OciImage[] = [],
): Promise<void> {
  await machine.sh("modprobe -a overlay bridge veth br_netfilter");
  await machine.write("/etc/cni/net.d/10-bridge.conflist", networkConflist);
  const config = containerdToml({ systemdCgroup: driver === "systemd", pauseImage: pauseImageName });
  await machine.write("/etc/containerd/config.toml", config);
  await machine.sh("systemctl start containerd");
  const busybox = await busyboxImage({ busybox: findProgram("busybox")!, names: [busyboxName] });
  for (const image of [pauseImage(), busybox, ...images]) await importImage(machine, image);
}

export async function importImage(machine: Machine, image: OciImage): Promise<void> {
  const file = `/run/image-${image.digest.slice(-12)}.tar`;
  await machine.write(file, image.archive);
  await machine.sh(`ctr --namespace k8s.io images import ${file} >/dev/null && rm ${file}`);
}
