import { PodFiles } from "../../src/kubelet/pipeline/pod-runtime/pod-files.ts";
import type { Pod, PodId, PodUid } from "../../src/lib/model/pod.ts";

/** The state of pods on the host besides the runtime, in memory: a disk has no simulated time. It outlives agents. */
export class SimulatedHost {
  readonly cgroups = new Set<PodUid>();
  readonly files = new RecordedFiles();
  /** "kind/container" of probes whose last result was success, as stored for the next agent. */
  readonly passedProbes = new Set<string>();
}

class RecordedFiles extends PodFiles {
  readonly dirs = new Map<PodUid, PodId>();
  /** The attempt of the newest log of a container. */
  readonly #attempts = new Map<string, number>();

  constructor() {
    super({ rootDir: "/nowhere", podLogsDir: "/nowhere", containerLogsDir: "/nowhere" });
  }
  override async createPodDirs({ metadata: { uid, name, namespace } }: { metadata: PodId }) {
    this.dirs.set(uid, { uid, name, namespace });
  }
  override async createContainerDirs() {}
  override async linkLog({ metadata: { uid } }: Pod, container: string, attempt: number) {
    this.#attempts.set(`${uid}/${container}`, attempt);
  }
  override async restartsByLogs({ metadata: { uid } }: Pod, container: string) {
    return (this.#attempts.get(`${uid}/${container}`) ?? -1) + 1;
  }
  override async removeLogs() {}
  override async remove({ uid }: PodId) {
    this.dirs.delete(uid);
    for (const key of this.#attempts.keys()) if (key.startsWith(`${uid}/`)) this.#attempts.delete(key);
  }
  override async removeDeadLinks() {}
  override async known() {
    return [...this.dirs.values()];
  }
}
