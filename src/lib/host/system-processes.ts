import { readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../base/errors.ts";

/** Distinguishes kernel threads and container processes from host processes. */
export interface SystemProcesses {
  /** Kernel threads have no executable; neither does a process that has exited. */
  isKernelThread(pid: number): Promise<boolean>;
  /** False for a process in a container with a PID namespace of its own. */
  isInHostPidNamespace(pid: number): Promise<boolean>;
}

export function systemProcesses(proc = "/proc"): SystemProcesses {
  return {
    async isKernelThread(pid) {
      try {
        await readlink(join(proc, String(pid), "exe"));
        return false;
      } catch (error) {
        return errnoOf(error) === "ENOENT";
      }
    },
    /** NSpid has the process ID in each namespace, from the namespace of init inward. The links of init's namespaces need more privileges. */
    async isInHostPidNamespace(pid) {
      const status = await readFile(join(proc, String(pid), "status"), "utf8");
      return !/^NSpid:\s+\d+\s+\d/m.test(status);
    },
  };
}
