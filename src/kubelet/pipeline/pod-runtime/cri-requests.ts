import { chmod, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isAbort, KubeletError, messageOf } from "../../lib/base/errors.ts";
import { NamespaceMode } from "../../lib/gen/runtime/v1/api_pb.js";
import { makeFolders } from "../../lib/host/make-folders.ts";
import { containerHash } from "../../lib/model/container-hash.ts";
import { isImageFailure } from "../../lib/model/image-reasons.ts";
import type { Container, Pod, PodUid } from "../../lib/model/pod.ts";
import type { PodEvents } from "../../lib/model/pod-events.ts";
import type { EnsuredImage } from "../../lib/model/pod-sync.ts";
import { buildContainerConfig } from "../pipeline/pod-runtime/config/container-config.ts";
import type {
  NodeFacts,
  RuntimeSettings,
  UserNamespaceInit,
} from "../pipeline/pod-runtime/config/context.ts";
import { buildEnv } from "../pipeline/pod-runtime/config/env.ts";
import { containerConfigError } from "../pipeline/pod-runtime/config/errors.ts";
import { containerDir, etcHostsFile, terminationFileName } from "../pipeline/pod-runtime/config/paths.ts";
import { buildSandboxConfig } from "../pipeline/pod-runtime/config/sandbox-config.ts";
import type { PodRuntimeOptions } from "../pipeline/pod-runtime/pod-runtime.ts";
import { podDns } from "../pods/network/dns.ts";
import { hostNetworkHosts, managedHosts, writeEtcHosts } from "../pods/network/etc-hosts.ts";
import { kernelHostname, type PodHostname, podHostname } from "../pods/network/hostname.ts";
import { parseResolvConf } from "../pods/network/resolv-conf.ts";
import { type HandlerFeatures, requireUserNamespaces } from "../pods/user-namespaces/user-namespaces.ts";
import type { Volumes } from "../pods/volumes/volumes.ts";
import { newestContainer, type ObservedPod } from "../state/observed-pods.ts";
import type { ApiObjects } from "./api-objects.ts";
import { emptyDirPath, readFileKeys } from "./env-files.ts";
import { readEnvObjects } from "./env-objects.ts";

export interface CriRequestsOptions {
  node: NodeFacts;
  settings: RuntimeSettings;
  clusterDns: readonly string[];
  clusterDomain: string;
  /** False for a pod that is not to be told of that there is no cluster DNS; all are unless told. */
  reportsMissingDns?: (pod: Pod) => boolean;
  /** The node's own resolver configuration; "" for none. */
  resolvConf: string;
  cgroupParentOf: (pod: Pod) => string;
  events: PodEvents;
  nodeEvents?: { warning(reason: string, message: string): void };
  /** False if spec.hostnameOverride does not count. */
  hostnameOverrides?: boolean;
  /** Looks a RuntimeClass up. Without somebody to ask, every pod gets the runtime's default handler. */
  runtimeClass?: (name: string) => { handler: string } | undefined;
  /** Without it no pod can have users of its own. */
  userNamespaces?: { mappingsFor(uid: PodUid): Promise<{ first: number; length: number }> };
  runtimeHandlers?: () => readonly HandlerFeatures[];
  /** ConfigMaps and Secrets; without them a pod that refers to one does not start. */
  objects?: ApiObjects;
  serviceEnv?: (pod: Pod) => Readonly<Record<string, string>>;
  /** Where a volume is on the node, if it is mounted; emptyDirs are known without it. */
  volumeDir?: (pod: Pod, volume: string) => string | undefined;
  /** What a container mounts, and the devices that it gets; without it a pod with volumes does not start. */
  volumes?: Pick<Volumes, "mountsFor" | "devicesFor">;
  extraGroups?: (pod: Pod) => readonly number[];
}

interface Made {
  attempt: number;
  image: EnsuredImage;
  podIPs: readonly string[];
  /** What the runtime has of the pod: an ephemeral container may look into another one. */
  seen?: ObservedPod;
  signal: AbortSignal;
}

export type CriRequests = PodRuntimeOptions["requests"] & {
  /** The handler of a pod; undefined if its RuntimeClass is not there, or not known yet. */
  knownHandler(pod: Pod): string | undefined;
};

/** Joins what a pod asks for with what the node is, and writes the files that its containers mount. */
export function criRequests(o: CriRequestsOptions): CriRequests {
  const noticed = new WeakSet<Pod>();
  const handlerOf = (pod: Pod) => runtimeHandler(pod, o.runtimeClass);
  const nameOf = (pod: Pod) => podHostname(pod, o.clusterDomain, o.hostnameOverrides ?? true);
  const contextOf = async (pod: Pod) => ({
    node: o.node,
    settings: o.settings,
    extraGroups: o.extraGroups?.(pod),
    userNamespace: await userNamespaceOf(pod, handlerOf(pod), o),
  });

  const sandbox = async (pod: Pod, attempt: number) => {
    const host = o.resolvConf === "" ? undefined : parseResolvConf(await readFile(o.resolvConf, "utf8"));
    const { clusterDns, clusterDomain, node } = o;
    const dns = podDns(pod, { clusterDns, clusterDomain, host, nodeIps: node.hostIps });
    if (!noticed.has(pod))
      for (const { about, reason, message } of dns.notices)
        if (reason === "MissingClusterDNS" && o.reportsMissingDns?.(pod) === false) continue;
        else if (about === "pod") o.events.warning(pod, reason, message);
        else o.nodeEvents?.warning(reason, message);
    noticed.add(pod);
    return buildSandboxConfig(pod, {
      ...(await contextOf(pod)),
      attempt,
      dns: dns.config,
      hostname: pod.spec.hostNetwork ? "" : kernelHostname(nameOf(pod), pod.spec.setHostnameAsFQDN),
      cgroupParent: o.cgroupParentOf(pod),
    });
  };

  const container = async (pod: Pod, spec: Container, { attempt, image, podIPs, seen, signal }: Made) => {
    const targetContainerId = targetOf(spec, seen);
    const podIps = pod.spec.hostNetwork && podIPs.length === 0 ? o.node.hostIps : podIPs;
    const context = await contextOf(pod);
    const envObjects = o.objects && (await readEnvObjects(pod, spec, o.objects, signal));
    const fileKey = await readFileKeys(pod, spec, o.volumeDir ?? emptyDirPath(o.settings.rootDir));
    const terminationFile = terminationFileName();
    await writeHostsFile(o.settings.rootDir, pod, podIps, nameOf(pod));
    await makeTerminationFile(o.settings.rootDir, pod, spec, terminationFile);
    const known = {
      ...context,
      attempt,
      imageRef: image.ref,
      imageUser: image.user,
      podIps,
      terminationFile,
      targetContainerId,
      serviceEnv: o.serviceEnv?.(pod),
      envObjects,
      fileKey,
    };
    if (!o.volumes) return buildContainerConfig(pod, spec, known);
    const mounts = await o.volumes.mountsFor(pod, spec, buildEnv(pod, spec, known), signal);
    const devices = await o.volumes.devicesFor(pod, spec);
    return buildContainerConfig(pod, spec, { ...known, mountsFor: () => mounts, devices });
  };

  return {
    hashOf: containerHash,
    runtimeHandler: handlerOf,
    knownHandler(pod) {
      try {
        return handlerOf(pod);
      } catch {
        return undefined;
      }
    },
    sandbox: (pod, attempt) => named("ConfigPodSandboxError", sandbox(pod, attempt)),
    container: (pod, spec, made) => named("CreateContainerConfigError", container(pod, spec, made)),
  };
}

/** Whatever goes wrong here has the same reason for users, the request could not be made; but for images of volumes. */
async function named<T>(code: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isAbort(error)) throw error;
    if (error instanceof KubeletError && (error.code === code || isImageFailure(error))) throw error;
    throw new KubeletError(code, messageOf(error), { cause: error });
  }
}

function runtimeHandler(pod: Pod, runtimeClass: CriRequestsOptions["runtimeClass"]): string {
  const name = pod.spec.runtimeClassName;
  if (!name || !runtimeClass) return "";
  const found = runtimeClass(name);
  if (!found) throw new KubeletError("RuntimeClass", `runtimeclass.node.k8s.io "${name}" not found`);
  return found.handler;
}

async function userNamespaceOf(
  pod: Pod,
  handler: string,
  { userNamespaces, runtimeHandlers }: CriRequestsOptions,
): Promise<UserNamespaceInit | undefined> {
  if (pod.spec.hostUsers !== false) return undefined;
  requireUserNamespaces(handler, runtimeHandlers?.() ?? []);
  if (!userNamespaces) return undefined;
  const { first, length } = await userNamespaces.mappingsFor(pod.metadata.uid);
  const ids = [{ hostId: first, containerId: 0, length }];
  return { mode: NamespaceMode.POD, uids: ids, gids: ids };
}

function targetOf(container: Container, seen: ObservedPod | undefined): string | undefined {
  const name = (container as { targetContainerName?: string }).targetContainerName;
  if (!name) return undefined;
  const target = newestContainer(seen, name);
  if (!target) throw containerConfigError(`unable to find target container ${name}`);
  return target.id;
}

async function writeHostsFile(
  rootDir: string,
  pod: Pod,
  podIps: readonly string[],
  name: PodHostname,
): Promise<void> {
  if (!pod.spec.hostNetwork && podIps.length === 0) return;
  const content = pod.spec.hostNetwork
    ? hostNetworkHosts(pod, await readFile("/etc/hosts", "utf8"))
    : managedHosts(pod, podIps, name);
  await writeEtcHosts(etcHostsFile(rootDir, pod), content);
}

/** The runtime would make a folder of a path that is not there, so the file has to be there first. */
async function makeTerminationFile(
  rootDir: string,
  pod: Pod,
  container: Container,
  name: string,
): Promise<void> {
  if (!container.terminationMessagePath) return;
  const path = join(containerDir(rootDir, pod, container.name), name);
  await makeFolders(dirname(path), 0o750);
  await writeFile(path, "");
  await chmod(path, 0o666);
}
