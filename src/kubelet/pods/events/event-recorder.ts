import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { httpStatusOf, messageOf, retryAfterOf } from "../../../lib/base/errors.ts";
import { failureLog } from "../../../lib/base/failure-log.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { RateLimit } from "../../../lib/base/rate-limit.ts";
import { epochMs } from "../../../lib/base/time.ts";
import { deadline, WakeUp } from "../../../lib/base/wait.ts";
import { KubeApiError } from "../../../lib/clients/kube/api-error.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { NodeEvents, PodEvents } from "../../../lib/model/pod-events.ts";
import type { ApiStatuses } from "../../pipeline/status-manager/api-statuses.ts";
import { EventCorrelator } from "./correlator.ts";
import {
  type ApiEvent,
  type EventType,
  makeEvent,
  nodeReference,
  type ObjectReference,
  podReference,
} from "./event-object.ts";
import { LruCache } from "./lru-cache.ts";

/** Why an event was dropped: too many about the object, the queue is full, rejected, or the API server was unreachable. */
export type EventDrop = "spam" | "queue" | "rejected" | "unsent";

export interface EventRecorderOptions {
  api: Pick<KubeTransport, "request">;
  clock: Clock;
  logger: Logger;
  nodeName: string;
  /** eventRecordQPS and eventBurst. */
  perSecond: number;
  burst: number;
  /**
   * The UID of events about a pod. Without it the pod's own, which for a static pod is the hash that its mirror has as an
   * annotation: `kubectl describe` of a mirror queries for events with that one.
   */
  uidFor?: (pod: Pod) => string;
  /**
   * How long normal events wait, 100 ms by default: the work that they report, such as the start of a pod, goes on first, and they are
   * sent together. Warnings do not wait.
   */
  collectMs?: number | undefined;
  onDrop?: (why: EventDrop) => void;
  /** From 0 to 1. */
  random?: () => number;
}

const queueLimit = 1000;
const maxAttempts = 12;
const retryMs = 10_000;
const requestTimeoutMs = 10_000;

interface QueuedEvent {
  readonly event: ApiEvent;
  /** Undefined for an event that is about no pod. */
  readonly podUid: PodUid | undefined;
}

/** Records events about pods and the node in the API. Callers never wait. */
export class EventRecorder implements Component, PodEvents {
  readonly name = "event-recorder";
  readonly #o: EventRecorderOptions;
  readonly #rate: RateLimit;
  #statuses: Pick<ApiStatuses, "flush"> | undefined;
  #correlator = new EventCorrelator();
  /** By event in the API: one that is repeated while it is queued is one request. */
  #queue = new Map<string, QueuedEvent>();
  /** Events that the API has. */
  #inApi = new LruCache<true>(4096);
  #lastAt = 0n;
  readonly #queued = new WakeUp();
  /** Ends the wait of normal events. */
  readonly #warned = new WakeUp();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: EventRecorderOptions) {
    this.#o = options;
    this.#rate = new RateLimit(options.perSecond, options.burst, options.clock);
  }

  /** The writer of pod statuses, used before an event is sent that a client may compare with the status of its pod. */
  writeStatusesWith(statuses: Pick<ApiStatuses, "flush">): void {
    this.#statuses = statuses;
  }

  /** Events about the node. */
  readonly node: NodeEvents = {
    normal: (reason, message) => this.#record(nodeReference(this.#o.nodeName), "Normal", reason, message),
    warning: (reason, message) => this.#record(nodeReference(this.#o.nodeName), "Warning", reason, message),
  };

  /** Events about PersistentVolumeClaims of pods. */
  readonly claims = {
    normal: (claim: NamedClaim, reason: string, message: string) =>
      this.#record(claimReference(claim), "Normal", reason, message),
    warning: (claim: NamedClaim, reason: string, message: string) =>
      this.#record(claimReference(claim), "Warning", reason, message),
  };

  /** Events about PersistentVolumes. */
  readonly volumes = {
    warning: ({ name, uid }: { name: string; uid?: string | undefined }, reason: string, message: string) => {
      const volume = { kind: "PersistentVolume", apiVersion: "v1", name, ...(uid !== undefined && { uid }) };
      this.#record(volume, "Warning", reason, message);
    },
  };

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#loop = this.#run(signal);
  }

  normal(pod: Pod, reason: string, message: string, container?: string): void {
    this.#record(this.#reference(pod, container), "Normal", reason, message, { pod });
  }

  warning(
    pod: Pod,
    reason: string,
    message: string,
    container?: string,
    annotations?: Readonly<Record<string, string>>,
  ): void {
    this.#record(this.#reference(pod, container), "Warning", reason, message, { pod, annotations });
  }

  #reference(pod: Pod, container: string | undefined): ObjectReference {
    const involvedObject = podReference(pod, container);
    return this.#o.uidFor ? { ...involvedObject, uid: this.#o.uidFor(pod) } : involvedObject;
  }

  #record(
    involvedObject: ObjectReference,
    type: EventType,
    reason: string,
    message: string,
    { pod, annotations }: { pod?: Pod; annotations?: Readonly<Record<string, string>> | undefined } = {},
  ): void {
    const { clock, nodeName } = this.#o;
    const now = BigInt(Math.floor(epochMs(clock.wall()))) * 1_000_000n;
    // The time is part of the name, and two events within a millisecond need different names.
    const isSameMoment = now <= this.#lastAt && this.#lastAt < now + 1_000_000n;
    const at = isSameMoment ? this.#lastAt + 1n : now;
    this.#lastAt = at;
    const correlated = this.#correlator.add(
      makeEvent({ involvedObject, type, reason, message, nodeName, at, annotations }),
      at,
      clock.monotonic(),
    );
    if (!correlated) return this.#drop("spam");
    if (!this.#queue.has(correlated.key) && this.#queue.size >= queueLimit) return this.#drop("queue");
    this.#queue.set(correlated.key, { event: correlated.event, podUid: pod?.metadata.uid });
    this.#queued.notify();
    if (type === "Warning") this.#warned.notify();
  }

  #drop(why: EventDrop): void {
    this.#o.onDrop?.(why);
  }

  /** Sends what was recorded by an agent that cannot start, and therefore never starts this component. */
  async sendWithin(ms: number): Promise<void> {
    using limit = deadline(this.#o.clock, ms);
    try {
      for (const key of [...this.#queue.keys()]) await this.#send(key, limit.signal);
    } catch {
      // Aborted while it waited to retry.
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const [next] = this.#queue;
      if (next) {
        const [key] = next;
        await this.#send(key, signal).catch((error: unknown) => {
          if (!signal.aborted) this.#o.logger.error("Failed to send event", { err: messageOf(error) });
        });
      } else {
        this.#queued.reset();
        await this.#queued.wait(this.#o.clock, undefined, signal);
        await this.#collect(signal);
      }
    }
  }

  async #collect(signal: AbortSignal): Promise<void> {
    const { clock, collectMs = 100 } = this.#o;
    const hasWarning = [...this.#queue.values()].some(({ event }) => event.type === "Warning");
    if (collectMs === 0 || hasWarning) return;
    this.#warned.reset();
    await this.#warned.wait(clock, collectMs, signal);
  }

  /** An event that cannot be sent blocks later ones: the order is kept, and a recovered API server is not overloaded. */
  async #send(key: string, signal: AbortSignal): Promise<void> {
    const { clock, logger, random = Math.random } = this.#o;
    let queued = this.#queue.get(key);
    for (let attempt = 1; queued; attempt++) {
      await this.#rate.take(signal);
      const { type, reason } = queued.event;
      if (queued.podUid && (type === "Warning" || reason === "Pulling"))
        await this.#statuses?.flush(queued.podUid);
      // It may have been repeated in the meantime.
      queued = this.#queue.get(key) ?? queued;
      const { event } = queued;
      this.#queue.delete(key);
      try {
        await this.#write(key, event, signal);
        this.#inApi.set(key, true);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const fields = { reason: event.reason, event: event.metadata.name, err: messageOf(error) };
        if (isRejection(error) || attempt >= maxAttempts) {
          if (isNamespaceTerminating(error))
            logger.debug(4, "Dropped event of terminating namespace", fields);
          else failureLog(logger, "warn", error)("API server rejected event", fields);
          return this.#drop(isRejection(error) ? "rejected" : "unsent");
        }
        failureLog(logger, 2, error)("Failed to send event, will retry", fields);
        const delay = attempt === 1 ? retryMs * random() : retryMs;
        await sleep(clock, Math.max(delay, retryAfterOf(error) ?? 0), signal);
      }
    }
  }

  async #write(key: string, event: ApiEvent, signal: AbortSignal): Promise<void> {
    const path = `/api/v1/namespaces/${encodeURIComponent(event.metadata.namespace)}/events`;
    const common = { signal, timeoutMs: requestTimeoutMs };
    if (this.#inApi.get(key)) {
      try {
        const { count, lastTimestamp, message } = event;
        await this.#o.api.request({
          ...common,
          method: "PATCH",
          path: `${path}/${encodeURIComponent(event.metadata.name)}`,
          contentType: "application/strategic-merge-patch+json",
          body: { count, lastTimestamp, message },
        });
        return;
      } catch (error) {
        // Events expire after an hour or so: this one is recreated.
        if (httpStatusOf(error) !== 404) throw error;
      }
    }
    try {
      await this.#o.api.request({ ...common, method: "POST", path, body: event });
    } catch (error) {
      // An earlier attempt succeeded, only its response was lost.
      if (httpStatusOf(error) !== 409) throw error;
    }
  }
}

/** Events of a namespace are deleted with it: that is not a failure. */
function isNamespaceTerminating(error: unknown): boolean {
  if (!(error instanceof KubeApiError)) return false;
  const { status, details, message } = error;
  if (status === 403)
    return details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false;
  return status === 404 && /^namespaces "[^"]*" not found/.test(message);
}

interface NamedClaim {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion?: string;
  };
}

function claimReference({
  metadata: { name, namespace, uid, resourceVersion },
}: NamedClaim): ObjectReference {
  const common = { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid };
  return { ...common, ...(resourceVersion !== undefined && { resourceVersion }) };
}

/** A response that the same request would get again. */
function isRejection(error: unknown): boolean {
  const status = httpStatusOf(error);
  return status !== undefined && status >= 400 && status < 500 && status !== 429;
}
