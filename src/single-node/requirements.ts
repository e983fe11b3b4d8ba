import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** The programs that a local node needs. */
export interface Binaries {
  readonly containerd: string;
  readonly ctr: string;
  readonly shim: string;
  readonly runc: string;
  readonly iptables: string;
  /** Statically linked: the demo image is built from it. */
  readonly busybox: string;
  readonly cniDir: string;
}

export interface Missing {
  readonly program: string;
  readonly why: string;
  /** The Debian package that contains it. */
  readonly debianPackage: string;
}

export type Requirements =
  | { readonly ok: true; readonly binaries: Binaries }
  | { readonly ok: false; readonly missing: readonly Missing[] };

/** How the machine is inspected; tests pass their own. */
export interface ProgramFinder {
  readonly path: readonly string[];
  isProgram(file: string): boolean;
  isStatic(file: string): boolean;
}

const defaultDirs = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const cniDirs = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni", "/usr/lib64/cni"];
const cniPlugins = ["bridge", "host-local", "loopback", "portmap"];

export function findRequirements(
  options: { containerdDir?: string; finder?: ProgramFinder } = {},
): Requirements {
  const finder = options.finder ?? machine();
  const find = (program: string, dirs: readonly string[]) =>
    dirs.map((dir) => join(dir, program)).find((file) => finder.isProgram(file));
  const dirs = finder.path;
  const ownDirs = options.containerdDir ? [options.containerdDir] : dirs;
  const containerd = find("containerd", ownDirs);
  // PATH may have a shim and a ctr of another version: those next to containerd come first.
  const adjacent = containerd ? [dirname(containerd), ...ownDirs] : ownDirs;
  const found: { [K in keyof Binaries]: string | undefined } = {
    containerd,
    ctr: find("ctr", adjacent),
    shim: find("containerd-shim-runc-v2", adjacent),
    runc: find("runc", dirs),
    iptables: find("iptables", dirs),
    busybox: dirs.map((dir) => join(dir, "busybox")).find((f) => finder.isProgram(f) && finder.isStatic(f)),
    cniDir: [...cniDirs, ...dirs].find((dir) => cniPlugins.every((p) => finder.isProgram(join(dir, p)))),
  };
  const missing = (Object.keys(needs) as (keyof Binaries)[]).filter((key) => !found[key]);
  if (missing.length > 0) return { ok: false, missing: missing.map((key) => needs[key]) };
  return { ok: true, binaries: found as Binaries };
}

/** The path of a program on this machine, or undefined. */
export function findProgram(name: string): string | undefined {
  const { path } = machine();
  return path.map((dir) => join(dir, name)).find(isProgram);
}

/** "containerd (runs the containers; Debian package containerd)": one line for each missing program. */
export function describeMissing(missing: readonly Missing[]): string[] {
  return missing.map((m) => `${m.program} (${m.why}; Debian package ${m.debianPackage})`);
}

export function debianPackages(missing: readonly Missing[]): string[] {
  return [...new Set(missing.map((m) => m.debianPackage))];
}

const needs: { [K in keyof Binaries]: Missing } = {
  containerd: { program: "containerd", why: "runs the containers", debianPackage: "containerd" },
  ctr: { program: "ctr", why: "imports images into containerd", debianPackage: "containerd" },
  shim: {
    program: "containerd-shim-runc-v2",
    why: "keeps containers running across restarts of containerd",
    debianPackage: "containerd",
  },
  runc: { program: "runc", why: "starts each container", debianPackage: "runc" },
  iptables: { program: "iptables", why: "host ports and pod traffic", debianPackage: "iptables" },
  busybox: { program: "a static busybox", why: "the demo image", debianPackage: "busybox-static" },
  cniDir: {
    program: `CNI plugins ${cniPlugins.join(", ")}`,
    why: "pod network",
    debianPackage: "containernetworking-plugins",
  },
};

function machine(): ProgramFinder {
  const fromEnv = (process.env.PATH ?? "").split(delimiter).filter((dir) => dir.startsWith("/"));
  return { path: [...new Set([...fromEnv, ...defaultDirs])], isProgram, isStatic };
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

const ptInterp = 3;

/** True for a 64-bit little-endian ELF program without an interpreter. */
export function isStatic(file: string): boolean {
  const head = Buffer.alloc(4096);
  const fd = openSync(file, "r");
  try {
    const length = readSync(fd, head, 0, head.length, 0);
    if (length < 64 || head.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") return false;
    const offset = Number(head.readBigUInt64LE(32));
    const [size, count] = [head.readUInt16LE(54), head.readUInt16LE(56)];
    if (offset + size * count > length) return false;
    for (let i = 0; i < count; i++) if (head.readUInt32LE(offset + i * size) === ptInterp) return false;
    return true;
  } finally {
    closeSync(fd);
  }
}
