import { type Clock, msSince, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { httpStatusOf, messageOf, retryAfterOf } from "../../../lib/base/errors.ts";
import { failureLog } from "../../../lib/base/failure-log.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import { type Pod, type PodStatus, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { ApiWriterMetrics } from "./api-writer-metrics.ts";
import type { StatusPatch } from "./api-writer-patch.ts";
import { newerOf, planWrite, type WriteFacts } from "./api-writer-plan.ts";

export interface ApiStatusWriterOptions {
  api: Pick<KubeTransport, "request">;
  clock: Clock;
  logger: Logger;
  /** The pod as it was last watched in the API; for a static pod its mirror. Undefined if there is none (yet, or any more). */
  apiPod: (pod: Pod) => Pod | undefined;
  /** A container of the pod could still run. */
  couldHaveRunningContainers: (uid: PodUid) => boolean;
  /** Containers, volumes and cgroups of the pod are gone: it may be deleted for good. */
  isCleared: (uid: PodUid) => boolean;
  metrics?: ApiWriterMetrics;
  /** From 0 to 1, so that pods do not all try again at the same moment. */
  random?: () => number;
}

interface Entry {
  pod: Pod;
  status: PodStatus;
  /** Counts the statuses of the pod. */
  version: number;
  /** When the oldest status that is not written was made. */
  waitingSince: MonotonicTime | undefined;
  /** The last version that was written, and to which pod of the API. */
  written: { uid: string; version: number } | undefined;
  /** What the API answered last. */
  answered: Pod | undefined;
  /** What we know is not what the API has: ask before the next write. */
  mustLook: boolean;
  notTaken: string | undefined;
  /** The API does not have the pod with this UID; `deleted` if that is our doing. */
  gone: { uid: string; deleted: boolean } | undefined;
  isWorking: boolean;
  hasMore: boolean;
}

const reconcileMs = 10_000;
const requestMs = 10_000;
const firstRetryMs = 200;
/** Short enough that all statuses are there a few seconds after the API is back. */
const lastRetryMs = 3000;
const conflictsInARow = 3;

/**
 * Brings the statuses of pods to the API, each in the order in which it was made, and deletes the pods that are to go and
 * have gone. One worker a pod; it takes the newest status and skips those in between.
 */
export class ApiStatusWriter implements Component {
  readonly name = "api-status-writer";
  readonly #o: ApiStatusWriterOptions;
  #entries = new Map<PodUid, Entry>();
  #workers = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;
  #rounds: Promise<void> = Promise.resolve();

  constructor(options: ApiStatusWriterOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#rounds.then(async () => {
      await Promise.all(this.#workers);
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    this.#signal = signal;
    this.#rounds = runPeriodically(async () => this.#reconcile(), {
      clock,
      everyMs: reconcileMs,
      signal,
      onError: (error) =>
        failureLog(
          logger,
          "error",
          error,
        )("Failed to compare pod statuses with the API server", {
          err: messageOf(error),
        }),
    });
  }

  /** The pod has this status now. */
  set(pod: Pod, status: PodStatus): void {
    const { uid } = pod.metadata;
    const old = this.#entries.get(uid);
    const entry = old ?? newEntry(pod, status);
    entry.pod = pod;
    if (!old || JSON.stringify(old.status) !== JSON.stringify(status)) {
      entry.status = status;
      entry.version++;
      entry.waitingSince ??= this.#o.clock.monotonic();
    }
    this.#entries.set(uid, entry);
    this.#wake(entry);
  }

  /** Something that counts here changed: the pod in the API, its mirror, whether it could run, whether it is cleared. */
  poke(uid: PodUid): void {
    const entry = this.#entries.get(uid);
    if (entry) this.#wake(entry);
  }

  /** Nobody cares for the pod any more. What is not written yet never will be. */
  forget(uid: PodUid): void {
    this.#entries.delete(uid);
  }

  /** True if the API has the newest status of the pod. */
  isWritten(uid: PodUid): boolean {
    const entry = this.#entries.get(uid);
    return entry !== undefined && entry.written?.version === entry.version;
  }

  #reconcile(): void {
    for (const entry of this.#entries.values()) {
      // It was not there, and the watch still has it: whoever is right, ask again.
      if (entry.gone && !entry.gone.deleted && this.#o.apiPod(entry.pod)) {
        entry.gone = undefined;
        entry.mustLook = true;
      }
      this.#wake(entry);
    }
  }

  #wake(entry: Entry): void {
    entry.hasMore = true;
    if (entry.isWorking || !this.#signal || this.#signal.aborted) return;
    entry.isWorking = true;
    const worker: Promise<void> = this.#work(entry, this.#signal).finally(() => this.#workers.delete(worker));
    this.#workers.add(worker);
  }

  async #work(entry: Entry, signal: AbortSignal): Promise<void> {
    const { clock, logger, random = Math.random } = this.#o;
    let failures = 0;
    while (entry.hasMore && this.#isOurs(entry) && !signal.aborted) {
      entry.hasMore = false;
      try {
        await this.#pass(entry, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        const fields = { pod: podRef(entry.pod), podUID: entry.pod.metadata.uid, err: messageOf(error) };
        if (isRefusal(error)) {
          // The next round or the next status tries again.
          logger.warn("API server rejected pod status", fields);
          continue;
        }
        const level = failures === 0 ? "error" : 2;
        failureLog(logger, level, error)("Failed to update status for pod, will retry", fields);
        const delay = Math.min(lastRetryMs, firstRetryMs * 2 ** failures++) * (0.5 + random() / 2);
        entry.hasMore = true;
        await sleep(clock, Math.max(delay, retryAfterOf(error) ?? 0), signal).catch(() => {});
      }
    }
    entry.isWorking = false;
  }

  /** Goes on until the API has what it is to have. */
  async #pass(entry: Entry, signal: AbortSignal): Promise<void> {
    const { apiPod, couldHaveRunningContainers, isCleared, clock } = this.#o;
    const { uid: ownUid } = entry.pod.metadata;
    let sent: { version: number; couldHaveRunningContainers: boolean } | undefined;
    for (let conflicts = 0; this.#isOurs(entry); ) {
      const watched = apiPod(entry.pod);
      // What the watch no longer has is deleted for good, and a node may not even ask for it.
      if (!watched) return;
      const { uid } = watched.metadata;
      if (entry.gone?.uid === uid) return;
      if (entry.answered && entry.answered.metadata.uid !== uid) forgetAnswers(entry);
      const { version } = entry;
      const facts = {
        own: entry.status,
        couldHaveRunningContainers: couldHaveRunningContainers(ownUid),
        now: clock.wall(),
      };
      const step = planWrite({
        ...facts,
        api: entry.mustLook ? undefined : newerOf(entry.answered, watched),
        isCleared: isCleared(ownUid),
        notTaken: entry.notTaken,
      });
      // Whatever the API made of it, one write of a status is enough until the next round.
      if (
        step.kind === "patch" &&
        sent?.version === version &&
        sent.couldHaveRunningContainers === facts.couldHaveRunningContainers
      )
        return;
      try {
        switch (step.kind) {
          case "rest":
            this.#written(entry, uid, version);
            return;
          case "look":
            entry.answered = await this.#look(entry.pod, signal);
            entry.mustLook = false;
            if (entry.answered.metadata.uid !== uid) entry.gone = { uid, deleted: false };
            break;
          case "patch":
            entry.answered = await this.#patch(entry.pod, step.patch, signal);
            sent = { version, couldHaveRunningContainers: facts.couldHaveRunningContainers };
            entry.notTaken = leftOver(entry.answered, facts);
            this.#written(entry, uid, version);
            break;
          case "delete":
            this.#written(entry, uid, version);
            await this.#delete(entry.pod, uid, signal);
            entry.gone = { uid, deleted: true };
            return;
          default:
            return step satisfies never;
        }
      } catch (error) {
        const status = httpStatusOf(error);
        if (status === 404) entry.gone = { uid, deleted: step.kind === "delete" };
        else {
          entry.mustLook = true;
          if (status !== 409 || ++conflicts > conflictsInARow) throw error;
        }
      }
    }
  }

  #isOurs(entry: Entry): boolean {
    return this.#entries.get(entry.pod.metadata.uid) === entry;
  }

  #written(entry: Entry, uid: string, version: number): void {
    if (entry.written?.uid === uid && entry.written.version === version) return;
    entry.written = { uid, version };
    if (entry.waitingSince !== undefined)
      this.#o.metrics?.written(msSince(this.#o.clock, entry.waitingSince) / 1000);
    entry.waitingSince = entry.version === version ? undefined : this.#o.clock.monotonic();
  }

  #look(pod: Pod, signal: AbortSignal): Promise<Pod> {
    return this.#o.api.request<Pod>({ method: "GET", path: podPath(pod), signal, timeoutMs: requestMs });
  }

  #patch(pod: Pod, body: StatusPatch, signal: AbortSignal): Promise<Pod> {
    return this.#o.api.request<Pod>({
      method: "PATCH",
      path: `${podPath(pod)}/status`,
      contentType: "application/strategic-merge-patch+json",
      body,
      signal,
      timeoutMs: requestMs,
    });
  }

  async #delete(pod: Pod, uid: string, signal: AbortSignal): Promise<void> {
    await this.#o.api.request({
      method: "DELETE",
      path: podPath(pod),
      body: { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0, preconditions: { uid } },
      signal,
      timeoutMs: requestMs,
    });
    this.#o.logger.debug(3, "Deleted terminated pod from the API server", {
      pod: podRef(pod),
      podUID: uid,
    });
  }
}

function newEntry(pod: Pod, status: PodStatus): Entry {
  return {
    pod,
    status,
    version: 0,
    waitingSince: undefined,
    written: undefined,
    answered: undefined,
    mustLook: false,
    notTaken: undefined,
    gone: undefined,
    isWorking: false,
    hasMore: false,
  };
}

function forgetAnswers(entry: Entry): void {
  entry.answered = undefined;
  entry.mustLook = false;
  entry.notTaken = undefined;
}

/** What would still be written after a write is what this API does not take: it is not offered again and again. */
function leftOver(
  api: Pod,
  facts: Pick<WriteFacts, "own" | "couldHaveRunningContainers" | "now">,
): string | undefined {
  const step = planWrite({ ...facts, api, isCleared: false, notTaken: undefined });
  return step.kind === "patch" ? JSON.stringify(step.patch.status) : undefined;
}

function podPath({ metadata: { namespace, name } }: Pod): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
}

/** An answer that the same request would get again. */
function isRefusal(error: unknown): boolean {
  const status = httpStatusOf(error);
  return status !== undefined && status >= 400 && status < 500 && status !== 409 && status !== 429;
}
