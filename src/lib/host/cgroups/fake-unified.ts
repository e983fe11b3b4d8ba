import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type CgroupFiles, hostCgroupFiles } from "./files.ts";

/** The files of each controller, with the values of a new cgroup. */
const knobs: Record<string, Record<string, string>> = {
  cpu: { "cpu.weight": "100", "cpu.max": "max 100000" },
  cpuset: { "cpuset.cpus": "" },
  memory: { "memory.max": "max", "memory.min": "0", "memory.low": "0", "memory.high": "max" },
  pids: { "pids.max": "max" },
  hugetlb: { "hugetlb.2MB.max": "max", "hugetlb.1GB.max": "max" },
};

/**
 * A cgroup v2 filesystem simulated in an ordinary directory: a new cgroup gets the files of the controllers that its
 * parent delegates, and is removed with them. For tests.
 */
export class FakeUnified implements CgroupFiles {
  readonly root: string;
  /** Directories that the "kernel" keeps busy, and for how many more attempts. */
  readonly busy = new Map<string, number>();

  constructor(root: string) {
    this.root = root;
  }

  async start(controllers: string): Promise<this> {
    await mkdir(this.root, { recursive: true });
    await writeFile(join(this.root, "cgroup.controllers"), `${controllers}\n`);
    await writeFile(join(this.root, "cgroup.subtree_control"), "");
    return this;
  }

  read = hostCgroupFiles.read;
  dirs = hostCgroupFiles.dirs;
  exists = hostCgroupFiles.exists;

  async write(file: string, text: string): Promise<void> {
    await stat(file);
    if (!file.endsWith("cgroup.subtree_control")) return writeFile(file, text);
    const names = new Set((await readFile(file, "utf8")).split(" ").filter(Boolean));
    for (const change of text.split(" ")) names.add(change.slice(1));
    await writeFile(file, [...names].join(" "));
  }

  async mkdir(dir: string): Promise<void> {
    if ((await mkdir(dir, { recursive: true })) === undefined) return;
    const names = (await readFile(join(dirname(dir), "cgroup.subtree_control"), "utf8"))
      .split(" ")
      .filter(Boolean);
    await writeFile(join(dir, "cgroup.controllers"), names.join(" "));
    const files = Object.assign(
      { "cgroup.procs": "", "cgroup.subtree_control": "" },
      ...names.map((name) => knobs[name]),
    ) as Record<string, string>;
    for (const [file, text] of Object.entries(files)) await writeFile(join(dir, file), text);
  }

  async rmdir(dir: string): Promise<void> {
    await stat(dir);
    const tries = this.busy.get(dir) ?? 0;
    this.busy.set(dir, tries - 1);
    const used =
      (await this.dirs(dir)).length > 0 || (await readFile(join(dir, "cgroup.procs"), "utf8")) !== "";
    if (tries > 0 || used) throw Object.assign(new Error("busy"), { code: "EBUSY" });
    await rm(dir, { recursive: true });
  }
}
