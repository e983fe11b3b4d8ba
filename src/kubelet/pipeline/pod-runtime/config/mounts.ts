import { join } from "node:path";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import type { ContainerContext, MountInit } from "./context.ts";
import { containerConfigError } from "./errors.ts";
import { containerDir, etcHostsFile } from "./paths.ts";

const etcHosts = "/etc/hosts";

/** Volumes in the order that the container names them, then /etc/hosts, then the termination message file. */
export function buildMounts(
  pod: Pod,
  container: Container,
  env: ReadonlyMap<string, string>,
  ctx: ContainerContext,
): MountInit[] {
  const { rootDir } = ctx.settings;
  const mounts = [...(ctx.mounts ?? []), ...volumeMounts(pod, container, env, ctx)];
  const ownHosts = container.volumeMounts?.some((mount) => mount.mountPath === etcHosts) ?? false;
  // Without an address there is nothing to write into the file yet.
  if (!ownHosts && (ctx.podIps.length > 0 || pod.spec.hostNetwork)) {
    mounts.push({
      containerPath: etcHosts,
      hostPath: etcHostsFile(rootDir, pod),
      selinuxRelabel: ctx.node.selinux,
    });
  }
  const messagePath = container.terminationMessagePath;
  if (messagePath) {
    mounts.push({
      containerPath: messagePath.startsWith("/") ? messagePath : `/${messagePath}`,
      hostPath: join(containerDir(rootDir, pod, container.name), ctx.terminationFile),
      selinuxRelabel: ctx.node.selinux,
    });
  }
  return mounts;
}

function volumeMounts(
  pod: Pod,
  container: Container,
  env: ReadonlyMap<string, string>,
  ctx: ContainerContext,
): MountInit[] {
  const device = container.volumeDevices?.[0];
  if (device && !ctx.devices?.length) throw missing(device.name, container);
  const first = container.volumeMounts?.[0];
  if (!first) return [];
  if (!ctx.mountsFor) throw missing(first.name, container);
  return ctx.mountsFor(pod, container, env);
}

function missing(volume: string, container: Container): Error {
  return containerConfigError(`cannot find volume "${volume}" to mount into container "${container.name}"`);
}
