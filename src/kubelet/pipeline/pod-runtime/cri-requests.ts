import { chmod, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { allDone } from "../../../lib/base/all-done.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { NamespaceMode } from "../../../lib/gen/runtime/v1/api_pb.js";
import { makeDirs } from "../../../lib/host/make-dirs.ts";
import { containerHash } from "../../../lib/model/container-hash.ts";
import { isImageFailure } from "../../../lib/model/image-reasons.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { EnsuredImage } from "../../../lib/model/pod-sync.ts";
import type { ClusterView } from "../../cluster/cluster-view.ts";
import type { PodNameResolution } from "../../pods/network/pod-name-resolution.ts";
import type { VolumeManager } from "../../pods/volumes/manager/volume-manager.ts";
import type { Volumes } from "../../pods/volumes/volumes.ts";
import type { ClaimManager } from "../../resources/dra/claim-manager.ts";
import { newestContainer, type ObservedPod } from "../../state/observed-pods.ts";
import { buildContainerConfig } from "./config/container-config.ts";
import type {
  ContainerContext,
  Cpusets,
  FileKey,
  FileKeyRef,
  NodeInfo,
  RuntimeSettings,
  UserNamespaceInit,
} from "./config/context.ts";
import { buildEnv } from "./config/env.ts";
import { containerConfigError } from "./config/errors.ts";
import { containerDir, etcHostsFile, terminationFileName } from "./config/paths.ts";
import { buildSandboxConfig } from "./config/sandbox-config.ts";
import { type EnvObjectReader, readEnvObjects } from "./env-objects.ts";
import type { PodRuntimeOptions } from "./pod-runtime.ts";
import type { RuntimeHandlers } from "./runtime-handlers.ts";

export interface CriRequestsOptions {
  node: NodeInfo;
  settings: RuntimeSettings;
  /** Host names and DNS of pods. */
  names: Pick<PodNameResolution, "dns" | "kernelHostname" | "etcHosts" | "writeEtcHosts">;
  /** False for a pod that gets no MissingClusterDNS event; true by default. */
  reportsMissingDns?: (pod: Pod) => boolean;
  cgroupParentOf: (pod: Pod) => string;
  events: PodEvents;
  nodeEvents?: { warning(reason: string, message: string): void };
  handlers: RuntimeHandlers;
  /** The ID range of a pod with a user namespace; throws if the runtime handler does not support it. Without it no pod has one. */
  userNamespace?: (uid: PodUid, handler: string) => Promise<{ first: number; length: number } | undefined>;
  /** ConfigMaps and Secrets; without them a pod that refers to one does not start. */
  objects?: EnvObjectReader;
  /** The environment variables of services; without a cluster there are none. */
  services?: Pick<ClusterView, "serviceEnv"> | undefined;
  /** The files that environment variables of a container refer to. */
  fileKeys: (pod: Pod, container: Container) => Promise<(ref: FileKeyRef) => FileKey | undefined>;
  /** Mounts and devices of a container; without it a pod with volumes does not start. */
  volumes?: Pick<Volumes, "mountsFor" | "devicesFor">;
  /** The devices of a container from device plugins, prepared for its start; undefined if it has none. */
  devices?: {
    devicesFor(pod: Pod, container: Container, signal: AbortSignal): Promise<PluginDevices | undefined>;
  };
  groups?: Pick<VolumeManager, "extraGroups">;
  /** The CPUs and NUMA nodes of a container; without it, or where not set, all of them. */
  cpusets?: (pod: Pod, container: Container) => Cpusets;
  /** The CDI devices of a container's ResourceClaims. */
  claims?: Pick<ClaimManager, "cdiDevices"> | undefined;
}

type PluginDevices = Pick<ContainerContext, "env" | "mounts" | "devices" | "annotations" | "cdiDevices">;

interface ContainerInput {
  attempt: number;
  image: EnsuredImage;
  podIPs: readonly string[];
  /** The observed pod: an ephemeral container may target another container. */
  observed?: ObservedPod;
  signal: AbortSignal;
}

export type CriRequests = PodRuntimeOptions["requests"];

/** Builds CRI requests from pod and node, and writes the files that containers mount. */
export function criRequests(o: CriRequestsOptions): CriRequests {
  const reported = new WeakSet<Pod>();
  const contextOf = async (pod: Pod) => ({
    node: o.node,
    settings: o.settings,
    extraGroups: o.groups?.extraGroups(pod),
    userNamespace: await userNamespaceOf(pod, o.handlers.of(pod), o),
  });

  const sandbox = async (pod: Pod, attempt: number) => {
    const dns = await o.names.dns(pod, o.node.hostIps);
    if (!reported.has(pod))
      for (const { about, reason, message } of dns.events)
        if (reason === "MissingClusterDNS" && o.reportsMissingDns?.(pod) === false) continue;
        else if (about === "pod") o.events.warning(pod, reason, message);
        else o.nodeEvents?.warning(reason, message);
    reported.add(pod);
    return buildSandboxConfig(pod, {
      ...(await contextOf(pod)),
      attempt,
      dns: dns.config,
      hostname: o.names.kernelHostname(pod),
      cgroupParent: o.cgroupParentOf(pod),
    });
  };

  const container = async (
    pod: Pod,
    spec: Container,
    { attempt, image, podIPs, observed, signal }: ContainerInput,
  ) => {
    const targetContainerId = targetOf(spec, observed);
    const podIps = pod.spec.hostNetwork && podIPs.length === 0 ? o.node.hostIps : podIPs;
    const context = await contextOf(pod);
    const envObjects = o.objects && (await readEnvObjects(pod, spec, o.objects, signal));
    const fileKey = await o.fileKeys(pod, spec);
    const pluginDevices = await o.devices?.devicesFor(pod, spec, signal);
    const terminationFile = terminationFileName();
    const known = {
      ...context,
      attempt,
      imageRef: image.ref,
      imageUser: image.user,
      podIps,
      terminationFile,
      targetContainerId,
      serviceEnv: o.services?.serviceEnv(pod),
      envObjects,
      fileKey,
      cpusets: o.cpusets?.(pod, spec),
      ...pluginDevices,
      ...(o.claims && {
        cdiDevices: [...(pluginDevices?.cdiDevices ?? []), ...o.claims.cdiDevices(pod, spec)],
      }),
    };
    const mounts = await o.volumes?.mountsFor(pod, spec, buildEnv(pod, spec, known), {
      signal,
      sandbox: () => sandbox(pod, 0),
    });
    const volumeDevices = (await o.volumes?.devicesFor(pod, spec)) ?? [];
    const config = buildContainerConfig(pod, spec, {
      ...known,
      ...(mounts && { mountsFor: () => mounts }),
      devices: [...(pluginDevices?.devices ?? []), ...volumeDevices],
    });
    // Last: a container whose configuration fails is retried for days, and would leave a file each time.
    await allDone([
      writeHostsFile(o, pod, podIps),
      createTerminationFile(o.settings.rootDir, pod, spec, terminationFile),
    ]);
    return config;
  };

  return {
    hashOf: containerHash,
    runtimeHandler: (pod) => o.handlers.of(pod),
    sandbox: (pod, attempt) => withReason("ConfigPodSandboxError", sandbox(pod, attempt)),
    container: (pod, spec, input) => withReason("CreateContainerConfigError", container(pod, spec, input)),
  };
}

/** All errors have the same reason for users, because the request could not be built. Errors of image volumes have their own. */
async function withReason<T>(code: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isAbort(error)) throw error;
    if (error instanceof KubeletError && (error.code === code || isImageFailure(error))) throw error;
    throw new KubeletError(code, messageOf(error), { cause: error });
  }
}

async function userNamespaceOf(
  pod: Pod,
  handler: string,
  { userNamespace }: CriRequestsOptions,
): Promise<UserNamespaceInit | undefined> {
  if (pod.spec.hostUsers !== false) return undefined;
  const mapped = await userNamespace?.(pod.metadata.uid, handler);
  if (!mapped) return undefined;
  const { first, length } = mapped;
  const ids = [{ hostId: first, containerId: 0, length }];
  return { mode: NamespaceMode.POD, uids: ids, gids: ids };
}

function targetOf(container: Container, observed: ObservedPod | undefined): string | undefined {
  const name = (container as { targetContainerName?: string }).targetContainerName;
  if (!name) return undefined;
  const target = newestContainer(observed, name);
  if (!target) throw containerConfigError(`unable to find target container ${name}`);
  return target.id;
}

async function writeHostsFile(
  { names, settings }: CriRequestsOptions,
  pod: Pod,
  podIps: readonly string[],
): Promise<void> {
  const content = await names.etcHosts(pod, podIps);
  if (content !== undefined) await names.writeEtcHosts(etcHostsFile(settings.rootDir, pod), content);
}

/** The runtime would create a directory if the path did not exist, so the file is created first. */
async function createTerminationFile(
  rootDir: string,
  pod: Pod,
  container: Container,
  name: string,
): Promise<void> {
  if (!container.terminationMessagePath) return;
  const path = join(containerDir(rootDir, pod, container.name), name);
  await makeDirs(dirname(path), 0o750);
  await writeFile(path, "");
  await chmod(path, 0o666);
}
