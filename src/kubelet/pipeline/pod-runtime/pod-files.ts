import { readdir, readlink, realpath, rm, symlink, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { allDone } from "../../../lib/base/all-done.ts";
import { errnoOf, KubeletError } from "../../../lib/base/errors.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { listDir } from "../../../lib/host/entries.ts";
import { inDir, makeDirs } from "../../../lib/host/make-dirs.ts";
import { readMountsBelow } from "../../../lib/host/mount-table.ts";
import { OpenDir } from "../../../lib/host/open-dir.ts";
import { removeEmptyTree, removeTree } from "../../../lib/host/remove-tree.ts";
import { restartsByLogs } from "../../../lib/host/restart-logs.ts";
import type { Pod, PodId, PodUid } from "../../../lib/model/pod.ts";
import { containerLogPath, isDirName, podDir, podLogDir } from "./config/paths.ts";

export interface PodFilesOptions {
  /** The root directory of the agent, with pods/<uid>. */
  rootDir: string;
  /** Log files: <namespace>_<name>_<uid>/<container>/<attempt>.log */
  podLogsDir: string;
  /** One link per container, with upstream's names, for log collectors. */
  containerLogsDir: string;
  /** The host's by default. */
  mountPoints?: () => string[];
}

/** The longest file name that Linux allows, minus the suffix ".log". */
const maxLinkName = 255 - ".log".length;

/** The directories and log links of pods. */
export class PodFiles {
  readonly #o: PodFilesOptions;

  constructor(options: PodFilesOptions) {
    this.#o = options;
  }

  podDir(uid: PodUid): string {
    return podDir(this.#o.rootDir, uid);
  }

  logDir(pod: PodId): string {
    return podLogDir(this.#o.podLogsDir, pod);
  }

  async createPodDirs(pod: Pod): Promise<void> {
    const dir = this.podDir(pod.metadata.uid);
    await makeDirs(dir, 0o750);
    await allDone([
      makeDirs(join(dir, "volumes"), 0o750),
      makeDirs(join(dir, "plugins"), 0o750),
      makeDirs(this.logDir(pod.metadata), 0o755),
    ]);
  }

  async createContainerDirs(pod: Pod, container: string): Promise<void> {
    await makeDirs(join(this.logDir(pod.metadata), container), 0o755);
  }

  /** The restart count of a container, by its log files. */
  restartsByLogs(pod: Pod, container: string): Promise<number> {
    return restartsByLogs(join(this.logDir(pod.metadata), container));
  }

  async linkLog(pod: Pod, container: string, attempt: number, id: ContainerId): Promise<void> {
    const target = join(this.logDir(pod.metadata), containerLogPath(container, attempt));
    const { containerLogsDir } = this.#o;
    try {
      await inDir(containerLogsDir, 0o755, () => symlink(target, this.#linkOf(pod.metadata, container, id)));
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  }

  /** Removes the logs of a container that was removed, rotated ones too. */
  async removeLogs(pod: PodId, container: { name: string; id: ContainerId; logPath: string }): Promise<void> {
    await rm(this.#linkOf(pod, container.name, container.id), { force: true });
    if (!container.logPath.startsWith(`${this.logDir(pod)}/`)) return;
    // A pod with the log directory as a volume may replace any directory in it.
    const dir = await OpenDir.below(this.#o.podLogsDir, dirname(container.logPath)).catch((error) => {
      if (errnoOf(error) !== "ENOENT") throw error;
    });
    if (!dir) return;
    try {
      const file = basename(container.logPath);
      for (const name of await readdir(dir.path))
        if (name === file || name.startsWith(`${file}.`))
          await rm(dir.at(Buffer.from(name)), { force: true });
    } finally {
      dir.close();
    }
  }

  #linkOf(pod: PodId, container: string, id: ContainerId): string {
    const full = `${pod.name}_${pod.namespace}_${container}-${id}`;
    return join(this.#o.containerLogsDir, `${full.slice(0, maxLinkName)}.log`);
  }

  /** Removes all files of a pod. Missing files are ignored. */
  async remove(pod: PodId): Promise<void> {
    const dir = this.podDir(pod.uid);
    const mounted = await this.#mountsIn(dir);
    // Deleting through a mount would delete the mounted data.
    if (mounted.length > 0)
      throw new KubeletError("Mounted", `${dir} still has mounts: ${mounted.join(", ")}`);
    await removeTree(this.logDir(pod)).catch((error) => {
      // A directory of this name cannot exist.
      if (errnoOf(error) !== "ENAMETOOLONG") throw error;
    });
    await this.removeDeadLinks(pod);
    // Files that are left may be user data: the plugins have emptied the volumes of the pod.
    await removeEmptyTree(join(dir, "volumes"));
    await removeTree(dir);
  }

  /** The kernel lists mount points by their real path; the configured path may contain links. */
  async #mountsIn(dir: string): Promise<string[]> {
    const real = await realpath(dir).catch(() => dir);
    const { mountPoints } = this.#o;
    if (!mountPoints) return readMountsBelow(real).reverse();
    return mountPoints().filter((path) => path === real || path.startsWith(`${real}/`));
  }

  /** Removes the links to the logs of this pod and of pods that are gone. */
  async removeDeadLinks(pod?: PodId): Promise<void> {
    const { containerLogsDir, podLogsDir } = this.#o;
    // The name of a pod that only has a directory is unknown.
    const prefix = pod?.name ? `${pod.name}_${pod.namespace}_`.slice(0, maxLinkName) : "";
    for (const name of await listDir(containerLogsDir)) {
      if (!name.endsWith(".log") || !name.startsWith(prefix)) continue;
      const link = join(containerLogsDir, name);
      const target = await readlink(link).catch(() => undefined);
      if (!target?.startsWith(`${podLogsDir}/`)) continue;
      const directory = target.split("/").slice(0, -2).join("/");
      if ((await listDir(directory)).length === 0) await unlink(link).catch(() => {});
    }
  }

  /** The pods that have a directory or logs. */
  async known(): Promise<PodId[]> {
    const pods = new Map<string, PodId>();
    for (const uid of await listDir(join(this.#o.rootDir, "pods")))
      pods.set(uid, { uid: uid as PodUid, name: "", namespace: "" });
    for (const entry of await listDir(this.#o.podLogsDir)) {
      const [namespace, name, uid] = entry.split("_");
      // A pod with the log directory as a volume can create any name there: "a_b_.." does not belong to a pod.
      if (namespace && name && uid && isDirName(uid)) pods.set(uid, { uid: uid as PodUid, name, namespace });
    }
    return [...pods.values()];
  }
}
