import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { KubeletError } from "../lib/base/errors.ts";

export const defaultBaseDir = "/var/lib/kubelet-ts";
const defaultRunDir = "/run/kubelet-ts";

/** Every path and kernel name that belongs to one local node; all of them derive from its name. */
export interface NodeFiles {
  readonly name: string;
  /** Kept on disk: <baseDir>/<name>. */
  readonly base: string;
  /** Lost at a reboot: <runDir>/<name>. */
  readonly run: string;
  /** Next to `run`, so that it is not removed with the files of a crashed node. */
  readonly lock: string;
  readonly containerd: {
    readonly root: string;
    readonly state: string;
    readonly config: string;
    readonly opt: string;
    readonly certs: string;
    readonly runcRoot: string;
    /** CDI specifications of devices, in addition to the host's. */
    readonly cdi: string;
    readonly socket: string;
    readonly log: string;
  };
  /** The agent's root directory (--root-dir). */
  readonly kubelet: string;
  readonly podLogs: string;
  readonly containerLogs: string;
  readonly manifests: string;
  /** Manifests applied by `kubelet apply`. */
  readonly applied: string;
  /** ConfigMaps and Secrets of a node without an API. */
  readonly objects: string;
  /** The embedded API: its database and keys, its log, and the kubeconfig for kubectl. */
  readonly api: { readonly dir: string; readonly log: string; readonly kubeconfig: string };
  readonly cni: { readonly conf: string; readonly ipam: string };
  /** The service CIDR: kept as long as the API objects that use it. */
  readonly serviceRange: string;
  /** The CNI network; its name is in iptables comments and in the CNI cache. */
  readonly network: string;
  /** At most 15 characters, the limit of the kernel. */
  readonly bridge: string;
  /** Relative to the mount of each cgroup hierarchy. */
  readonly cgroupRoot: string;
}

const validName = /^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$/;

export function nodeFiles(name: string, baseDir = defaultBaseDir, runDir = defaultRunDir): NodeFiles {
  if (!validName.test(name)) {
    throw new KubeletError(
      "NodeName",
      `"${name}" is not a valid node name: use 1 to 32 lower-case letters, digits and dashes, no dash at the ends`,
    );
  }
  const base = join(baseDir, name);
  const run = join(runDir, name);
  const socket = join(run, "containerd.sock");
  // containerd listens on "<socket>.ttrpc" too, and the path of a unix socket has at most 107 bytes.
  if (Buffer.byteLength(`${socket}.ttrpc`) > 107) {
    throw new KubeletError(
      "NodeName",
      `"${socket}" is too long for a socket: choose a shorter run directory`,
    );
  }
  return {
    name,
    base,
    run,
    lock: `${run}.lock`,
    containerd: {
      root: join(base, "containerd"),
      state: join(run, "containerd"),
      config: join(run, "containerd.toml"),
      opt: join(base, "containerd-opt"),
      certs: join(base, "containerd-certs"),
      runcRoot: join(run, "runc"),
      cdi: join(run, "cdi"),
      socket,
      log: join(base, "log", "containerd.log"),
    },
    kubelet: join(base, "kubelet"),
    podLogs: join(base, "log", "pods"),
    containerLogs: join(base, "log", "containers"),
    manifests: join(base, "manifests"),
    applied: join(base, "applied"),
    objects: join(base, "objects"),
    api: {
      dir: join(base, "api"),
      log: join(base, "log", "api.log"),
      kubeconfig: join(base, "kubeconfig"),
    },
    cni: { conf: join(base, "cni", "net.d"), ipam: join(base, "cni", "ipam") },
    serviceRange: join(base, "service-range"),
    network: `kubelet-ts-${name}`,
    bridge:
      name.length <= 11
        ? `kts-${name}`
        : `kts-${createHash("sha256").update(name).digest("hex").slice(0, 11)}`,
    cgroupRoot: `/kubelet-ts-${name}`,
  };
}

export function createDirectories(files: NodeFiles): void {
  const { containerd, cni } = files;
  mkdirSync(files.run, { recursive: true, mode: 0o711 });
  for (const dir of [
    containerd.root,
    containerd.state,
    containerd.opt,
    containerd.certs,
    containerd.runcRoot,
  ]) {
    mkdirSync(dir, { recursive: true, mode: 0o711 });
  }
  mkdirSync(files.api.dir, { recursive: true, mode: 0o700 });
  // Containers write secrets to their logs, and manifests contain them. Directories of earlier versions were readable by all users.
  for (const dir of [dirname(files.podLogs), files.manifests]) {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    chmodSync(dir, statSync(dir).mode & 0o770);
  }
  for (const dir of [files.kubelet, files.podLogs, files.containerLogs, cni.conf, cni.ipam]) {
    mkdirSync(dir, { recursive: true, mode: 0o755 });
  }
}

/** Files that a node recreates: all except manifests, objects, logs and the data of the API. */
export function derivedPaths(files: NodeFiles): string[] {
  const { containerd } = files;
  return [
    containerd.root,
    containerd.opt,
    containerd.certs,
    files.kubelet,
    join(files.base, "cni"),
    files.run,
  ];
}
