import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/lib/base/clock.ts";
import { parseMountinfo } from "../../src/lib/host/mount-table.ts";
import { removeCgroups } from "../../src/single-node/cgroup-trees.ts";

/**
 * An isolated host runs one command in its own process, mount, network and cgroup namespaces, with empty /run,
 * /var/log and state directories. What runs in it sees no other processes, links and cgroups, so that a test may
 * compare the state of the machine as a whole. The exit of its init process kills all others.
 */
export interface IsolatedHost {
  readonly child: ChildProcess;
  /** The exit status of the command; resolves when the namespaces and their cgroups are gone. */
  readonly exited: Promise<number | NodeJS.Signals | null>;
}

export const isolationUnavailable: string | false = process.getuid?.() === 0 ? false : "needs root";

/** The state directories besides /run and /var/log. */
const stateDirs = ["/var/lib/kubelet-ts", "/var/lib/cni", "/var/lib/kubelet"];

let hosts = 0;

export function startIsolated(command: readonly string[], env: NodeJS.ProcessEnv = {}): IsolatedHost {
  const hierarchies = parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8")).filter((mount) =>
    mount.fsType.startsWith("cgroup"),
  );
  const name = `kubelet-ts-isolated-${process.pid}-${++hosts}`;
  const cgroups = hierarchies.map((mount) => join(mount.path, name));
  for (const dir of cgroups) makeCgroup(dir);
  // The kernel allows another process to remove an empty directory that is a mount point only in here, and detaches the mount.
  const placeholders = stateDirs.map((dir) => join(dir, `.${name}`));
  for (const dir of placeholders) mkdirSync(dir, { recursive: true });
  const { system, state } = mountCommands(hierarchies.map(({ path }) => path));
  // The shell joins its cgroups first: they become the roots of the hierarchies in its cgroup namespace.
  const join_ = cgroups.map((dir) => `echo $$ > ${dir}/cgroup.procs`);
  const unshare = "exec unshare --mount --net --cgroup --propagation private";
  const outer = [...join_, `${unshare} sh -ec "$ENTER" sh "$@"`].join("\n");
  // In cgroup v2, only a cgroup without processes delegates controllers, unless it is the real root: move them first.
  const unified = hierarchies.filter(({ path, fsType }) => fsType === "cgroup2" && path === "/sys/fs/cgroup");
  const emptyRoots = unified.flatMap(({ path }) => [
    `mkdir ${path}/init`,
    `echo $$ > ${path}/init/cgroup.procs`,
  ]);
  const enter = [...system, ...emptyRoots, 'exec unshare --pid --fork --kill-child sh -ec "$INSIDE" sh "$@"'];
  const inside = [...state, "busybox ip link set lo up", '"$@"'];
  const child = spawn("sh", ["-ec", outer, "sh", ...command], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env, ENTER: enter.join("\n"), INSIDE: inside.join("\n") },
  });
  const exited = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  }).finally(() => {
    for (const dir of placeholders) rmSync(dir, { recursive: true, force: true });
    return removeCgroups(cgroups, systemClock);
  });
  return { child, exited };
}

/** Creates a cgroup. In v1, a cpuset accepts no process before it has CPUs and memory nodes. */
function makeCgroup(dir: string): void {
  mkdirSync(dir);
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    try {
      writeFileSync(join(dir, file), readFileSync(join(dir, "..", file)));
    } catch {
      // another hierarchy
    }
  }
}

/** Its own /proc, /sys with the cgroups as they were laid out outside, and empty state directories. */
function mountCommands(cgroupPaths: readonly string[]): { system: string[]; state: string[] } {
  const mountinfo = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const optionsOf = (path: string) => {
    const fields =
      (mountinfo.findLast((line) => line.split(" ")[4] === path) ?? "").split(" - ")[1]?.split(" ") ?? [];
    const controllers = (fields[2] ?? "")
      .split(",")
      .filter((option) => !/^(rw|ro|.*=.*)$/.test(option) || option.startsWith("name="));
    return { type: fields[0] ?? "cgroup", controllers };
  };
  const unified = cgroupPaths.includes("/sys/fs/cgroup");
  const system = [
    "mount -t sysfs sysfs /sys",
    ...(unified ? [] : ["mount -t tmpfs -o mode=755 cgroups /sys/fs/cgroup"]),
    ...cgroupPaths.flatMap((path) => {
      const { type, controllers } = optionsOf(path);
      const options = type === "cgroup" ? `-o ${["rw", ...controllers].join(",")}` : "";
      return [`mkdir -p ${path}`, `mount -t ${type} ${options} ${type} ${path}`];
    }),
  ];
  // Mounts of others would only be hidden, and would keep their namespaces and filesystems in use.
  const release = (pattern: string) =>
    `busybox awk '${pattern} { print $5 }' /proc/self/mountinfo | while read -r path; do umount -l "$path" || true; done`;
  const state = [
    "mount -t proc proc /proc",
    release("/ - nsfs /"),
    ...["/run", ...stateDirs, "/var/log"].flatMap((dir) => [
      `mkdir -p ${dir}`,
      release(`$5 ~ "^${dir}/"`),
      `mount -t tmpfs -o mode=755 state ${dir}`,
    ]),
  ];
  return { system, state };
}
