import { fileURLToPath } from "node:url";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { removeAbandonedNodes } from "../../src/single-node/abandoned.ts";
import { startLocalNode } from "../../src/single-node/local-node.ts";
import { type Binaries, findRequirements } from "../../src/single-node/requirements.ts";

export type ContainerdVersion = "1.6" | "2.x";

/** A local node without an agent, for tests: containerd of a chosen version, images, a pod network. */
export interface TestNode {
  readonly name: string;
  readonly containerd: ContainerdVersion;
  /** For --container-runtime-endpoint. */
  readonly endpoint: string;
  readonly images: { readonly pause: string; readonly busybox: string };
  readonly logDir: string;
  readonly containerLogDir: string;
  /** For --root-dir. */
  readonly rootDir: string;
  readonly manifests: string;
  readonly cgroupRoot: string;
  readonly podSubnet: string;
  readonly serviceRange: string;
  ctr(args: readonly string[]): Promise<string>;
  /** Stops containerd only: containers and their shims keep running. */
  stopRuntime(): Promise<void>;
  startRuntime(): Promise<void>;
  /** Stops everything and removes all resources and files; throws if something remains. */
  stop(): Promise<void>;
}

export const busyboxName = "docker.io/library/busybox:1.35";
/** Where `npm test` unpacks containerd 2.x. */
export const containerd2Dir = fileURLToPath(new URL("../../.cache/containerd-2/usr/bin", import.meta.url));

/** The two versions of containerd that the project is tested with; `available` states why one cannot be used here. */
export function containerdVersions(): { name: ContainerdVersion; available: true | string }[] {
  return (["1.6", "2.x"] as const).map((name) => {
    const found = binariesOf(name);
    return { name, available: typeof found === "string" ? found : true };
  });
}

let started = 0;

export async function startTestNode(options: {
  containerd: ContainerdVersion;
  name?: string;
  /** Where its files are, except sockets; by default in the directory of local nodes. */
  baseDir?: string;
  signal?: AbortSignal;
}): Promise<TestNode> {
  const binaries = binariesOf(options.containerd);
  if (typeof binaries === "string") throw new Error(`containerd ${options.containerd}: ${binaries}`);
  await removeAbandonedNodes(/^t-(\d+)-\d+$/);
  const name = options.name ?? `t-${process.pid}-${++started}`;
  const node = await startLocalNode({
    name,
    binaries,
    logger: silentLogger,
    demoNames: [busyboxName],
    signal: options.signal,
    ...(options.baseDir !== undefined && { baseDir: options.baseDir }),
  });
  return {
    name,
    containerd: options.containerd,
    endpoint: node.endpoint,
    images: { pause: node.images.pause, busybox: busyboxName },
    logDir: node.files.podLogs,
    containerLogDir: node.files.containerLogs,
    rootDir: node.files.kubelet,
    manifests: node.files.manifests,
    cgroupRoot: node.cgroupRoot,
    podSubnet: node.podSubnet,
    serviceRange: node.serviceRange,
    ctr: (args) => node.containerd.ctr(args),
    stopRuntime: () => node.containerd.stop(),
    startRuntime: () => node.containerd.start(),
    stop: async () => {
      const { remaining: left } = await node.stop({ keep: "nothing" });
      if (left.length > 0) throw new Error(`node ${name} left behind: ${left.join("; ")}`);
    },
  };
}

function binariesOf(version: ContainerdVersion): Binaries | string {
  if (process.getuid?.() !== 0) return "needs root";
  const found = findRequirements(version === "2.x" ? { containerdDir: containerd2Dir } : {});
  return found.ok ? found.binaries : `missing: ${found.missing.map((m) => m.program).join(", ")}`;
}
