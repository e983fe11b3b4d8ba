import { whenAborted } from "../../../lib/base/abort.ts";
import { type Clock, msSince, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { httpStatusOf, messageOf, retryAfterOf } from "../../../lib/base/errors.ts";
import { failureLog } from "../../../lib/base/failure-log.ts";
import { sameJson } from "../../../lib/base/json-value.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { endsWithin } from "../../../lib/base/wait.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import { type Pod, type PodStatus, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { ApiWriterMetrics } from "./api-writer-metrics.ts";
import { isProgress, type StatusPatch } from "./api-writer-patch.ts";
import { newerOf, planWrite, type WriteInfo, type WriteStep } from "./api-writer-plan.ts";

export interface ApiStatusWriterOptions {
  api: Pick<KubeTransport, "request">;
  clock: Clock;
  logger: Logger;
  /** The pod as last received from the watch; for a static pod its mirror. Undefined if there is none. */
  apiPod: (pod: Pod) => Pod | undefined;
  /** A container of the pod could still run. */
  couldHaveRunningContainers: (uid: PodUid) => boolean;
  /** Containers, volumes and cgroups of the pod are gone: it may be deleted. */
  resourcesReclaimed: (uid: PodUid) => boolean;
  metrics?: ApiWriterMetrics;
  /** From 0 to 1, for the jitter of retries. */
  random?: () => number;
}

interface Entry {
  pod: Pod;
  status: PodStatus;
  /** Counts the statuses of the pod. */
  version: number;
  /** When the oldest unwritten status was set. */
  waitingSince: MonotonicTime | undefined;
  /** The last version that was written, and to which pod in the API. */
  written: { uid: string; version: number } | undefined;
  /** The pod in the last response of the API. */
  received: Pod | undefined;
  /** The known pod is outdated: get it before the next write. */
  mustGet: boolean;
  ignoredPatch: string | undefined;
  /** The API does not have the pod with this UID; `deleted` if this writer deleted it. */
  gone: { uid: string; deleted: boolean } | undefined;
  /** The input of the last plan that had nothing to do: for the same there is nothing to do again. */
  settled: Omit<WriteInfo, "now"> | undefined;
  isWorking: boolean;
  hasMore: boolean;
  /** The version that does not wait for the next one. */
  urgent: number | undefined;
  worker: Promise<void>;
}

const reconcileMs = 10_000;
/**
 * How long a status that only reports progress waits for the next one: a container whose image is present starts in less, and needs one
 * request. Longer would be noticeable: the reference writes its first status before volumes are mounted, and a ready sandbox before images
 * are pulled.
 */
const progressDelayMs = 500;
/** An event waits this long for a status. */
const flushMs = 1000;
const requestTimeoutMs = 10_000;
const initialRetryMs = 200;
/** Short enough to write all statuses within seconds after the API is reachable again. */
const maxRetryMs = 3000;
const maxConflicts = 3;

/**
 * Writes pod statuses to the API, each pod's in order, and deletes the pods that are being deleted and have terminated. One worker per
 * pod; it writes the newest status and skips those in between.
 */
export class ApiStatusWriter implements Component {
  readonly name = "api-status-writer";
  readonly #o: ApiStatusWriterOptions;
  #entries = new Map<PodUid, Entry>();
  #workers = new Set<Promise<void>>();
  /** Pods whose status waits for the next one, with the function that cancels the timer. */
  readonly #delayed = new Map<PodUid, () => void>();
  readonly #ignoredFields = new Set<string>();
  #signal: AbortSignal | undefined;
  #reconciliation: Promise<void> = Promise.resolve();

  constructor(options: ApiStatusWriterOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#reconciliation.then(async () => {
      await Promise.all(this.#workers);
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    this.#signal = signal;
    whenAborted(signal, () => {
      for (const cancel of this.#delayed.values()) cancel();
      this.#delayed.clear();
    });
    this.#reconciliation = runPeriodically(async () => this.#reconcile(), {
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
    if (!old || !sameJson(old.status, status)) {
      entry.status = status;
      entry.version++;
      entry.waitingSince ??= this.#o.clock.monotonic();
    }
    this.#entries.set(uid, entry);
    this.#wake(entry);
  }

  /** Something relevant changed: the pod in the API, its mirror, whether it could run, whether its resources are reclaimed. */
  wake(uid: PodUid): void {
    const entry = this.#entries.get(uid);
    if (entry) this.#wake(entry);
  }

  /** Writes a status that waits for the next one. Resolves when it is written, and after a second at the latest. */
  async flush(uid: PodUid): Promise<void> {
    const entry = this.#entries.get(uid);
    if (!entry || !this.#signal || this.isWritten(uid)) return;
    entry.urgent = entry.version;
    this.#wake(entry);
    if (entry.worker) await endsWithin(this.#o.clock, flushMs, entry.worker, this.#signal).catch(() => {});
  }

  /** The pod is gone. A status that is not written yet is dropped. */
  forget(uid: PodUid): void {
    this.#entries.delete(uid);
    this.#endDelay(uid);
  }

  /** True if the API has the newest status of the pod. */
  isWritten(uid: PodUid): boolean {
    const entry = this.#entries.get(uid);
    return entry !== undefined && entry.written?.version === entry.version;
  }

  #reconcile(): void {
    for (const entry of this.#entries.values()) {
      // A request did not find it, but the watch still has it: get it again.
      if (entry.gone && !entry.gone.deleted && this.#o.apiPod(entry.pod)) {
        entry.gone = undefined;
        entry.mustGet = true;
      }
      this.#wake(entry);
    }
  }

  #wake(entry: Entry): void {
    entry.hasMore = true;
    if (entry.isWorking || !this.#signal || this.#signal.aborted) return;
    entry.isWorking = true;
    const worker: Promise<void> = this.#work(entry, this.#signal).finally(() => this.#workers.delete(worker));
    entry.worker = worker;
    this.#workers.add(worker);
  }

  async #work(entry: Entry, signal: AbortSignal): Promise<void> {
    const { clock, logger, random = Math.random } = this.#o;
    let failures = 0;
    while (entry.hasMore && this.#isCurrent(entry) && !signal.aborted) {
      entry.hasMore = false;
      try {
        await this.#sync(entry, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        const fields = { pod: podRef(entry.pod), podUID: entry.pod.metadata.uid, err: messageOf(error) };
        if (isPermanent(error)) {
          // The next reconciliation or the next status tries again.
          logger.warn("API server rejected pod status", fields);
          continue;
        }
        const level = failures === 0 ? "error" : 2;
        failureLog(logger, level, error)("Failed to update status for pod, will retry", fields);
        const delay = Math.min(maxRetryMs, initialRetryMs * 2 ** failures++) * (0.5 + random() / 2);
        entry.hasMore = true;
        await sleep(clock, Math.max(delay, retryAfterOf(error) ?? 0), signal).catch(() => {});
      }
    }
    entry.isWorking = false;
  }

  /** Runs until the API has the desired status. */
  async #sync(entry: Entry, signal: AbortSignal): Promise<void> {
    const { apiPod, couldHaveRunningContainers, resourcesReclaimed, clock } = this.#o;
    const { uid: ownUid } = entry.pod.metadata;
    let sent: { version: number; couldHaveRunningContainers: boolean } | undefined;
    // The sync decides again how long this status waits.
    this.#endDelay(ownUid);
    for (let conflicts = 0; this.#isCurrent(entry); ) {
      const watched = apiPod(entry.pod);
      // A pod that is not in the watch is deleted, and the node may not get it.
      if (!watched) return;
      const { uid } = watched.metadata;
      if (entry.gone?.uid === uid) return;
      if (entry.received && entry.received.metadata.uid !== uid) resetReceived(entry);
      const { version } = entry;
      const info = {
        own: entry.status,
        couldHaveRunningContainers: couldHaveRunningContainers(ownUid),
        now: clock.wall(),
      };
      const input: WriteInfo = {
        ...info,
        api: entry.mustGet ? undefined : newerOf(entry.received, watched),
        resourcesReclaimed: resourcesReclaimed(ownUid),
        ignoredPatch: entry.ignoredPatch,
      };
      const step: WriteStep = isSettled(entry.settled, input) ? { kind: "none" } : planWrite(input);
      entry.settled = step.kind === "none" ? input : undefined;
      // One write per status is enough until the next reconciliation, even if the API changed it.
      if (
        step.kind === "patch" &&
        sent?.version === version &&
        sent.couldHaveRunningContainers === info.couldHaveRunningContainers
      )
        return;
      const mayWait = step.kind === "patch" && input.api && isProgress(input.api, step.patch);
      if (mayWait && entry.urgent !== version && this.#delay(entry)) return;
      try {
        switch (step.kind) {
          case "none":
            this.#written(entry, uid, version);
            return;
          case "get":
            entry.received = await this.#get(entry.pod, signal);
            entry.mustGet = false;
            if (entry.received.metadata.uid !== uid) entry.gone = { uid, deleted: false };
            break;
          case "patch":
            entry.received = await this.#patch(entry.pod, step.patch, signal);
            sent = { version, couldHaveRunningContainers: info.couldHaveRunningContainers };
            entry.ignoredPatch = this.#ignoredPatch(entry.received, info);
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
          entry.mustGet = true;
          if (status !== 409 || ++conflicts > maxConflicts) throw error;
        }
      }
    }
  }

  /** The difference that remains after a write is what this API server does not store: it is not sent again. Logged once. */
  #ignoredPatch(
    api: Pod,
    info: Pick<WriteInfo, "own" | "couldHaveRunningContainers" | "now">,
  ): string | undefined {
    const step = planWrite({ ...info, api, resourcesReclaimed: false, ignoredPatch: undefined });
    if (step.kind !== "patch") return undefined;
    const names = Object.keys(step.patch.status).filter((name) => !name.startsWith("$"));
    const fields = names.filter((name) => !this.#ignoredFields.has(name)).join(",");
    for (const name of names) this.#ignoredFields.add(name);
    if (fields)
      this.#o.logger.debug(2, "API server does not store all fields of pod statuses", {
        pod: podRef(api),
        fields,
      });
    return JSON.stringify(step.patch.status);
  }

  /** Wakes the entry when its status has waited long enough. Returns false if it already has. */
  #delay({ pod, waitingSince }: Entry): boolean {
    const { clock } = this.#o;
    const { uid } = pod.metadata;
    const remainingMs = waitingSince === undefined ? 0 : progressDelayMs - msSince(clock, waitingSince);
    if (remainingMs <= 0) return false;
    this.#delayed.set(
      uid,
      clock.after(remainingMs, () => {
        this.#delayed.delete(uid);
        this.wake(uid);
      }),
    );
    return true;
  }

  #endDelay(uid: PodUid): void {
    this.#delayed.get(uid)?.();
    this.#delayed.delete(uid);
  }

  #isCurrent(entry: Entry): boolean {
    return this.#entries.get(entry.pod.metadata.uid) === entry;
  }

  #written(entry: Entry, uid: string, version: number): void {
    if (entry.written?.uid === uid && entry.written.version === version) return;
    entry.written = { uid, version };
    if (entry.waitingSince !== undefined)
      this.#o.metrics?.written(msSince(this.#o.clock, entry.waitingSince) / 1000);
    entry.waitingSince = entry.version === version ? undefined : this.#o.clock.monotonic();
  }

  #get(pod: Pod, signal: AbortSignal): Promise<Pod> {
    return this.#o.api.request<Pod>({
      method: "GET",
      path: podPath(pod),
      signal,
      timeoutMs: requestTimeoutMs,
    });
  }

  #patch(pod: Pod, body: StatusPatch, signal: AbortSignal): Promise<Pod> {
    return this.#o.api.request<Pod>({
      method: "PATCH",
      path: `${podPath(pod)}/status`,
      contentType: "application/strategic-merge-patch+json",
      body,
      signal,
      timeoutMs: requestTimeoutMs,
    });
  }

  async #delete(pod: Pod, uid: string, signal: AbortSignal): Promise<void> {
    await this.#o.api.request({
      method: "DELETE",
      path: podPath(pod),
      body: { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0, preconditions: { uid } },
      signal,
      timeoutMs: requestTimeoutMs,
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
    received: undefined,
    mustGet: false,
    ignoredPatch: undefined,
    gone: undefined,
    settled: undefined,
    isWorking: false,
    hasMore: false,
    urgent: undefined,
    worker: Promise.resolve(),
  };
}

/** True if the input equals that of the settled plan. `now` is not compared: only the times of changes depend on it. */
function isSettled(settled: Entry["settled"], input: WriteInfo): boolean {
  return (
    settled !== undefined &&
    settled.api === input.api &&
    settled.own === input.own &&
    settled.couldHaveRunningContainers === input.couldHaveRunningContainers &&
    settled.resourcesReclaimed === input.resourcesReclaimed &&
    settled.ignoredPatch === input.ignoredPatch
  );
}

function resetReceived(entry: Entry): void {
  entry.received = undefined;
  entry.mustGet = false;
  entry.ignoredPatch = undefined;
}

function podPath({ metadata: { namespace, name } }: Pod): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
}

/** An error that the same request would get again. */
function isPermanent(error: unknown): boolean {
  const status = httpStatusOf(error);
  return status !== undefined && status >= 400 && status < 500 && status !== 409 && status !== 429;
}
