import type { Machine } from "./machine.ts";

/** The files of one cgroup: file name to content. */
export type CgroupValues = Readonly<Record<string, string>>;

/** Files that tests compare; those that a cgroup does not have are absent. */
export const limitFiles = [
  "cpu.max",
  "cpu.weight",
  "memory.high",
  "memory.low",
  "memory.max",
  "memory.min",
  "memory.oom.group",
  "memory.swap.max",
  "pids.max",
] as const;

/**
 * All cgroups at and below a path, relative to the mount, with the values that the guest's kernel has. Takes one command, regardless of the
 * number of cgroups.
 */
export async function readCgroups(
  machine: Machine,
  path: string,
  files: readonly string[] = limitFiles,
): Promise<Map<string, CgroupValues>> {
  const patterns = files.map((file) => `--include='${file}'`).join(" ");
  const { stdout } = await machine.run(
    `cd /sys/fs/cgroup && { find .${path} -type d; grep -rHs '' ${patterns} .${path}; }`,
  );
  const found = new Map<string, Record<string, string>>();
  for (const line of stdout.split("\n").filter(Boolean)) {
    const [, dir, file, value] = /^\.(.*?)(?:\/([^/:]+):(.*))?$/.exec(line)!;
    if (file === undefined) {
      found.set(dir!, {});
      continue;
    }
    const values = found.get(dir!);
    if (values) values[file] = file in values ? `${values[file]}\n${value}` : value!;
  }
  return found;
}

/** The cgroups at and below a path whose directory name matches. */
export async function cgroupDirs(machine: Machine, path: string, name = "*"): Promise<string[]> {
  const { stdout } = await machine.run(`cd /sys/fs/cgroup && find .${path} -type d -name '${name}'`);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => line.slice(1));
}

const qosDirs = { Guaranteed: "", Burstable: "burstable", BestEffort: "besteffort" } as const;

/** Where the cgroup of a pod is, as the reference kubelet names it with each driver. */
export function podCgroup(driver: "cgroupfs" | "systemd", qos: keyof typeof qosDirs, uid: string): string {
  const steps = ["kubepods", qosDirs[qos], `pod${uid}`].filter(Boolean);
  if (driver === "cgroupfs") return `/${steps.join("/")}`;
  const escaped = steps.map((step) => step.replaceAll("-", "_"));
  return escaped.map((_, i) => `/${escaped.slice(0, i + 1).join("-")}.slice`).join("");
}

/** The oom_score_adj of the first process of each cgroup that has one. */
export async function oomScores(machine: Machine): Promise<Map<string, number>> {
  const output = await machine.sh(`cd /sys/fs/cgroup && find . -name cgroup.procs | while read -r file; do
    read -r pid 2>/dev/null <"$file" && read -r score 2>/dev/null <"/proc/$pid/oom_score_adj" && echo "\${file%/*} $score"
  done; true`);
  const lines = output.split("\n").filter(Boolean);
  return new Map(lines.map((line) => [line.slice(1, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}
