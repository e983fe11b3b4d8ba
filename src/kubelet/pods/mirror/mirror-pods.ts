import { Backoff } from "../../../lib/base/backoff.ts";
import { type Clock, msSince, msUntil } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { httpStatusOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { failureLog } from "../../../lib/base/failure-log.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { WakeUp } from "../../../lib/base/wait.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import { fullNameOf, type Pod, type PodFullName, podRef } from "../../../lib/model/pod.ts";
import type { InitialSync } from "../../pipeline/sync-loop/initial-sync.ts";
import { isMirrorOf, type MirrorStep, mirrorOf, type OwnerNode, planMirrors } from "./mirror-plan.ts";

export interface MirrorPodsOptions {
  api: Pick<KubeTransport, "request">;
  clock: Clock;
  logger: Logger;
  /** The static pods that run here; terminating ones need no new mirror. */
  staticPods: () => readonly Pod[];
  /** Pods from the API server that are mirror pods, as last watched. */
  mirrors: () => readonly Pod[];
  /** Undefined while the node is not registered or is being deleted: no mirror is created then. */
  node: () => OwnerNode | undefined;
  /** All sources have reported their pods. Before that, a mirror without a pod is not an orphan. */
  initialSync: Pick<InitialSync, "areSourcesReady">;
  /** A static pod of this name is still terminating here: its mirror has the status. */
  isTerminating: (name: PodFullName) => boolean;
}

const everyMs = 10_000;
const requestTimeoutMs = 10_000;
/** How long to wait for the watch to deliver a mirror that was just created. */
const watchLagMs = 5000;

/** Maintains a mirror pod for each static pod, so that users and the scheduler see it. */
export class MirrorPods implements Component {
  readonly name = "mirror-pods";
  readonly #o: MirrorPodsOptions;
  #backoff = new Backoff({ initialMs: 1000, maxMs: 30_000, resetMs: 60_000 });
  /** Created, and not delivered by the watch yet. */
  #created = new Map<PodFullName, { pod: Pod; at: MonotonicTime }>();
  /** Mirrors that were deleted and that the watch may still show. */
  #deleted = new Set<string>();
  /** Mirrors of terminated pods: a pod that starts again with the same UID needs a new one. */
  #terminated = new Set<string>();
  readonly #wake = new WakeUp();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: MirrorPodsOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#loop = this.#run(signal);
  }

  /** Pods, mirrors or the node have changed. */
  wake(): void {
    this.#wake.notify();
  }

  /** The static pod of this name has terminated. If it starts again, that is another pod in the API. */
  podTerminated(name: PodFullName): void {
    for (const mirror of this.#o.mirrors())
      if (fullNameOf(mirror) === name) this.#terminated.add(mirror.metadata.uid);
    this.wake();
  }

  /** The API server is reachable again: failed steps need not wait any longer. */
  resetBackoff(): void {
    this.#backoff.forget("");
    this.wake();
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake.reset();
      const nextSyncMs = await this.#sync(signal);
      await this.#wake.wait(this.#o.clock, nextSyncMs, signal);
    }
  }

  /** Applies the plan, and resolves with the delay until the next sync. */
  async #sync(signal: AbortSignal): Promise<number> {
    const { clock, logger } = this.#o;
    let nextSyncMs = everyMs;
    for (const step of this.#plan()) {
      const target = step.kind === "delete" ? step.mirror : step.pod;
      const name = fullNameOf(target);
      const readyAt = this.#backoff.readyAt(name);
      const waitMs = readyAt === undefined ? 0 : msUntil(clock, readyAt);
      if (waitMs > 0) {
        nextSyncMs = Math.min(nextSyncMs, waitMs);
        continue;
      }
      try {
        await this.#apply(step, signal);
        this.#backoff.succeeded(name);
      } catch (error) {
        if (signal.aborted) break;
        failureLog(
          logger,
          "warn",
          error,
        )("Failed to update mirror pod", {
          pod: podRef(target),
          step: step.kind,
          err: messageOf(error),
        });
        nextSyncMs = Math.min(nextSyncMs, this.#backoff.failed(name, clock.monotonic()));
      }
    }
    return nextSyncMs;
  }

  #plan(): MirrorStep[] {
    const { clock, staticPods, mirrors, node, initialSync, isTerminating } = this.#o;
    const watched = mirrors();
    for (const uids of [this.#deleted, this.#terminated])
      for (const uid of uids) if (!watched.some((m) => m.metadata.uid === uid)) uids.delete(uid);
    const current = watched.filter((m) => !this.#deleted.has(m.metadata.uid));
    const names = new Set(current.map(fullNameOf));
    for (const [name, { at }] of this.#created)
      if (names.has(name) || msSince(clock, at) >= watchLagMs) this.#created.delete(name);
    const steps = planMirrors(staticPods(), current, this.#terminated);
    return steps.filter((step) => {
      if (step.kind === "delete")
        return initialSync.areSourcesReady() && !isTerminating(fullNameOf(step.mirror));
      const created = this.#created.get(fullNameOf(step.pod))?.pod;
      const isCreated = created?.metadata.uid === step.pod.metadata.uid;
      return step.kind === "replace" || (!isCreated && node() !== undefined);
    });
  }

  async #apply(step: MirrorStep, signal: AbortSignal): Promise<void> {
    switch (step.kind) {
      case "delete":
        return this.#delete(step.mirror, signal);
      case "replace":
        await this.#delete(step.mirror, signal);
        return this.#create(step.pod, signal);
      case "create":
        return this.#create(step.pod, signal);
      default:
        return step satisfies never;
    }
  }

  async #create(pod: Pod, signal: AbortSignal): Promise<void> {
    const { api, clock, logger } = this.#o;
    const node = this.#o.node();
    if (!node) return;
    try {
      await api.request({
        method: "POST",
        path: podsPath(pod),
        body: mirrorOf(pod, node),
        signal,
        timeoutMs: requestTimeoutMs,
      });
      logger.info("Created mirror pod", { pod: podRef(pod) });
    } catch (error) {
      if (httpStatusOf(error) !== 409) throw error;
      await this.#requireMirror(pod, error, signal);
    }
    this.#created.set(fullNameOf(pod), { pod, at: clock.monotonic() });
  }

  /** Throws if the pod of this name is foreign. It is our mirror if only the response was lost or the watch lags. */
  async #requireMirror(pod: Pod, cause: unknown, signal: AbortSignal): Promise<void> {
    const { api } = this.#o;
    const found = await api.request<Pod>({
      method: "GET",
      path: podPath(pod),
      signal,
      timeoutMs: requestTimeoutMs,
    });
    if (isMirrorOf(found, pod)) return;
    throw new KubeletError("MirrorPod", `another pod has the name ${podRef(pod)}`, { cause });
  }

  async #delete(mirror: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = mirror.metadata;
    try {
      await this.#o.api.request({
        method: "DELETE",
        path: podPath(mirror),
        body: { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0, preconditions: { uid } },
        signal,
        timeoutMs: requestTimeoutMs,
      });
      this.#o.logger.info("Deleted mirror pod", { pod: podRef(mirror), podUID: uid });
    } catch (error) {
      // Already deleted, or replaced by another pod of the same name.
      const status = httpStatusOf(error);
      if (status !== 404 && status !== 409) throw error;
    }
    this.#deleted.add(uid);
  }
}

function podsPath({ metadata: { namespace } }: Pod): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}

function podPath(pod: Pod): string {
  return `${podsPath(pod)}/${encodeURIComponent(pod.metadata.name)}`;
}
