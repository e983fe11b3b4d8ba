import type { ContainerId, SandboxId } from "../clients/cri/cri.ts";
import type { PodUid } from "../model/pod.ts";

/** A container as the runtime told it. Times are milliseconds since the epoch; 0 means "not yet". */
export interface ObservedContainer {
  id: ContainerId;
  name: string;
  sandboxId: SandboxId;
  state: "created" | "running" | "exited" | "unknown";
  /** How many containers of that name came before it: part of its name in the runtime. */
  attempt: number;
  /** What the spec was when it was created. */
  hash: string;
  image: string;
  imageRef: string;
  createdAt: number;
  startedAt: number;
  finishedAt: number;
  exitCode: number;
  reason: string;
  message: string;
  logPath: string;
  annotations: Readonly<Record<string, string>>;
}

export interface ObservedSandbox {
  id: SandboxId;
  state: "ready" | "notready";
  attempt: number;
  createdAt: number;
  ips: readonly string[];
  hostNetwork: boolean;
  annotations: Readonly<Record<string, string>>;
}

/** What the runtime has of one pod, newest first. */
export interface ObservedPod {
  uid: PodUid;
  name: string;
  namespace: string;
  sandboxes: readonly ObservedSandbox[];
  containers: readonly ObservedContainer[];
}

/**
 * The runtime as it was last seen, pod by pod. PLEG is its only writer: everybody else reads.
 */
export class ObservedPods {
  #pods = new Map<PodUid, ObservedPod>();

  get(uid: PodUid): ObservedPod | undefined {
    return this.#pods.get(uid);
  }

  all(): IterableIterator<ObservedPod> {
    return this.#pods.values();
  }

  set(pod: ObservedPod): void {
    this.#pods.set(pod.uid, pod);
  }

  delete(uid: PodUid): void {
    this.#pods.delete(uid);
  }
}

export function readySandbox(pod: ObservedPod | undefined): ObservedSandbox | undefined {
  return pod?.sandboxes.find((s) => s.state === "ready");
}

/** The newest container of that name, whatever its state. */
export function newestContainer(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  return pod?.containers.find((c) => c.name === name);
}

export function runningContainers(pod: ObservedPod | undefined): ObservedContainer[] {
  return pod?.containers.filter((c) => c.state === "running" || c.state === "unknown") ?? [];
}
