import type { WallTime } from "../../lib/base/time.ts";
import type { ContainerId, SandboxId } from "../../lib/clients/cri/cri.ts";
import { annotationSource, type PodId, type PodUid } from "../../lib/model/pod.ts";

/** A container as reported by the runtime. Times are milliseconds since the epoch; 0 means "not yet". */
export interface ObservedContainer {
  id: ContainerId;
  name: string;
  sandboxId: SandboxId;
  state: "created" | "running" | "exited" | "unknown";
  /** The attempt: part of its name in the runtime. */
  attempt: number;
  /** The spec hash at creation. */
  hash: string;
  /** The image name in the runtime. */
  image: string;
  /** The image in a container list, which may differ: with containerd, the image ID. */
  listedImage?: string;
  /** imageID in the API: a digest if the image has one. */
  imageRef: string;
  /** The image ID in the runtime; it protects the image from garbage collection. Empty with old runtimes. */
  imageId?: string;
  createdAt: WallTime;
  startedAt: WallTime;
  finishedAt: WallTime;
  exitCode: number;
  reason: string;
  message: string;
  logPath: string;
  annotations: Readonly<Record<string, string>>;
  /** The user of its first process, if the runtime reports it. */
  user?: { uid: number; gid: number; supplementalGroups: readonly number[] };
  /** The limits in effect, if the runtime reports them; what has no limit is absent. */
  resources?: { milliCpuLimit?: number; milliCpuRequest?: number; memoryLimit?: number };
  /** By the path in the container, the ID of the image that is mounted there. */
  imageVolumes?: Readonly<Record<string, string>>;
  /** "SIGTERM"; absent if the runtime does not report it. */
  stopSignal?: string;
}

export interface ObservedSandbox {
  id: SandboxId;
  state: "ready" | "notready";
  attempt: number;
  createdAt: WallTime;
  ips: readonly string[];
  hostNetwork: boolean;
  annotations: Readonly<Record<string, string>>;
}

/** The sandboxes and containers of one pod, newest first. */
export interface ObservedPod {
  uid: PodUid;
  name: string;
  namespace: string;
  sandboxes: readonly ObservedSandbox[];
  containers: readonly ObservedContainer[];
}

/** The parts of one pod that were just started in the runtime. */
export interface StartedParts {
  readonly sandbox?: SandboxId | undefined;
  readonly containers: readonly StartedContainer[];
}

export interface StartedContainer extends Pick<ObservedContainer, "id" | "sandboxId"> {
  /** The image in the request. */
  readonly image: string;
}

/** A pod that was listed but could not be inspected. */
export interface UninspectedPod extends PodId {
  sandboxes: readonly { annotations: Readonly<Record<string, string>> }[];
}

/** The last observed state of the runtime, pod by pod. PLEG is its only writer: all others read. */
export class ObservedPods {
  #pods = new Map<PodUid, ObservedPod>();
  #relisted = false;
  #uninspected = new Map<PodUid, UninspectedPod>();

  /** False if a missing pod may still exist: there was no relist yet, or the pod could not be inspected. */
  knows(uid: PodUid): boolean {
    return this.#pods.has(uid) || (this.#relisted && !this.#uninspected.has(uid));
  }

  /** A relist has completed and found these pods. */
  relisted(found: { has(uid: PodUid): boolean }): void {
    this.#relisted = true;
    for (const uid of this.#uninspected.keys()) if (!found.has(uid)) this.#uninspected.delete(uid);
  }

  /** The runtime has the pod, but its details could not be read. */
  couldNotInspect(pod: UninspectedPod): void {
    this.#uninspected.set(pod.uid, pod);
  }

  /** Pods that could not be inspected. */
  uninspected(): UninspectedPod[] {
    return [...this.#uninspected.values()].filter((pod) => !this.#pods.has(pod.uid));
  }

  get(uid: PodUid): ObservedPod | undefined {
    return this.#pods.get(uid);
  }

  all(): IterableIterator<ObservedPod> {
    return this.#pods.values();
  }

  set(pod: ObservedPod): void {
    this.#uninspected.delete(pod.uid);
    this.#pods.set(pod.uid, pod);
  }

  delete(uid: PodUid): void {
    this.#uninspected.delete(uid);
    this.#pods.delete(uid);
  }
}

export function readySandbox(pod: ObservedPod | undefined): ObservedSandbox | undefined {
  return pod?.sandboxes.find((s) => s.state === "ready");
}

/** The newest container of that name, regardless of its state. */
export function newestContainer(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  return pod?.containers.find((c) => c.name === name);
}

export function runningContainers(pod: ObservedPod | undefined): ObservedContainer[] {
  return pod?.containers.filter((c) => c.state === "running" || c.state === "unknown") ?? [];
}

/** True if the pod came from an API server. */
export function isFromApi(pod: ObservedPod | undefined): boolean {
  return pod?.sandboxes.some((sandbox) => sandbox.annotations[annotationSource] === "api") ?? false;
}
