import { whenAborted } from "../../../lib/base/abort.ts";
import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../../lib/base/component.ts";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { type MonotonicTime, msBetween } from "../../../lib/base/time.ts";
import { WakeUp } from "../../../lib/base/wait.ts";
import type { ContainerId, RuntimeService, SandboxId } from "../../../lib/clients/cri/cri.ts";
import { ContainerState, type ContainerStatus } from "../../../lib/gen/runtime/v1/api_pb.js";
import { labelContainerName, labelPodUid } from "../../../lib/model/labels.ts";
import type { PodId, PodUid } from "../../../lib/model/pod.ts";
import type {
  ObservedContainer,
  ObservedPod,
  ObservedPods,
  ObservedSandbox,
  StartedContainer,
  StartedParts,
} from "../../state/observed-pods.ts";
import {
  groupByPod,
  isContainerUnchanged,
  knownSandbox,
  type ListedPod,
  mayBecomeOomKilled,
  observedContainer,
  observedSandbox,
  type PodEvent,
  podEvents,
  withOomKills,
  withParts,
} from "./observe.ts";
import type { PlegMetrics } from "./pleg-metrics.ts";
import { terminationMessage } from "./termination-message.ts";

type Runtime = Pick<
  RuntimeService,
  "listPodSandboxes" | "listContainers" | "podSandboxStatus" | "containerStatus"
>;

export interface PlegOptions {
  runtime: Runtime;
  observed: ObservedPods;
  clock: Clock;
  logger: Logger;
  /** How long to wait before the next relist: short without runtime events, long with them. */
  relistEveryMs: () => number;
  /** False: single pods are not listed on request; the next relist provides their state (PLEGOnDemandRelist). */
  onDemand?: boolean;
  onEvent: (event: PodEvent) => void;
  /** Overrides how the termination message is read; called once for each container that exits. */
  terminationMessage?: (status: ContainerStatus) => Promise<string>;
  metrics?: PlegMetrics;
}

const unhealthyAfterMs = 3 * 60_000;
const refreshAgainMs = 500;
/** How long the runtime may still start something for an agent that was killed: it cancels the calls of a client that is gone. */
const settleMs = 10_000;
/** How many OOM kills are remembered until their containers are observed as exited. Usually there are few. */
const maxOomKilled = 256;

/**
 * The pod lifecycle event generator: observes what the runtime has, is the only writer of the observed pods, and reports what changed.
 * A relist lists all pods, refresh() one.
 */
export class Pleg implements Component {
  readonly name = "pleg";
  readonly #o: PlegOptions;
  #loop: Promise<void> = Promise.resolve();
  #signal = AbortSignal.abort();
  #sequence = 0;
  /** The sequence number of the listing that a pod's entry is from: an older listing must not overwrite it. */
  #appliedFrom = new Map<PodUid, number>();
  /** The parts of each pod that were observed one by one after its last listing, by the sequence number of their observation. */
  #parts = new Map<PodUid, { sequence: number; pod: ObservedPod }[]>();
  /** Inspections of stopped parts in progress. A refresh of the pod waits for them: it would request the same. A relist must not: one may hang. */
  #inspecting = new Map<PodUid, Set<Promise<boolean>>>();
  /** The newest listing when containers of a pod were changed in place. Details are valid only if a later listing has them. */
  #changedAt = new Map<PodUid, number>();
  /** Pods that are refreshed again soon, with the function that cancels it. */
  #refreshTimers = new Map<PodUid, () => void>();
  /** Containers of which the kernel killed a process, the oldest first. */
  #oomKilled = new Set<ContainerId>();
  /** The last relist that was applied completely: it also applies to the pods that it did not find. */
  #completeFrom = 0;
  #isSettled = false;
  /** Sandboxes that no kubelet created: they have no pod labels and are listed by ID. */
  #foreign = new Set<string>();
  #lastRelistAt: MonotonicTime | undefined;
  /** When the last relist started that listed the runtime. */
  #listedAt: MonotonicTime | undefined;
  #startedAt: MonotonicTime;
  #lastError = "";
  readonly #wake = new WakeUp();
  #refreshes = new Map<PodUid, { running: Promise<void>; next?: Promise<void> }>();
  /** Pods whose state the next relist provides, if there are no relists on demand. */
  #awaiting = new Map<PodUid, PromiseWithResolvers<void>>();
  #firstRelist = Promise.withResolvers<void>();

  constructor(options: PlegOptions) {
    this.#o = options;
    this.#startedAt = options.clock.monotonic();
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    this.#startedAt = this.#o.clock.monotonic();
    this.#loop = this.#run(signal).finally(() => {
      for (const each of this.#awaiting.values()) each.reject(signal.reason);
      this.#awaiting.clear();
    });
    whenAborted(signal, () => {
      for (const cancel of this.#refreshTimers.values()) cancel();
      this.#refreshTimers.clear();
    });
  }

  /**
   * Resolves after the first relist: before it, an absent pod means nothing. A pod that could not be inspected then does not delay the
   * others; its worker refreshes it before it acts.
   */
  get synced(): Promise<void> {
    return this.#firstRelist.promise;
  }

  health(): Health {
    const { clock } = this.#o;
    const idleMs = msSince(clock, this.#lastRelistAt ?? this.#startedAt);
    if (idleMs <= unhealthyAfterMs) return healthy;
    const seconds = Math.round(idleMs / 1000);
    return {
      ok: false,
      reason: `pleg was last seen active ${seconds}s ago; threshold is 3m0s: ${this.#lastError}`,
    };
  }

  /** Requests a relist of everything now. */
  relistSoon(): void {
    // A running relist may have listed before the change that the caller knows of.
    this.#wake.notify();
  }

  /**
   * Containers of the pod were changed, or may have been, without a change of their state: the next listing requests all their details
   * again, whether it is a refresh or a relist that overtakes it.
   */
  changed(uid: PodUid): void {
    this.#changedAt.set(uid, this.#sequence);
  }

  /**
   * Observes one pod again. Resolves when the state of the runtime at the time of this call, or later, is in the observed pods.
   */
  refresh(uid: PodUid): Promise<void> {
    return this.#o.onDemand === false ? this.#nextRelist(uid) : this.refreshNow(uid);
  }

  #nextRelist(uid: PodUid): Promise<void> {
    const awaiting = this.#awaiting.get(uid) ?? Promise.withResolvers<void>();
    this.#awaiting.set(uid, awaiting);
    return awaiting.promise;
  }

  /** Refreshes one pod immediately, even without relists on demand: the runtime has reported a change of the pod. */
  refreshNow(uid: PodUid): Promise<void> {
    const entry = this.#refreshes.get(uid);
    if (!entry) {
      const running = this.#refreshOne(uid).finally(() => {
        const current = this.#refreshes.get(uid);
        if (current?.running === running && !current.next) this.#refreshes.delete(uid);
      });
      this.#refreshes.set(uid, { running });
      return running;
    }
    // A running refresh may have listed before the caller's change, so all waiting callers share the next refresh.
    entry.next ??= entry.running
      .catch(() => {})
      .then(() => {
        this.#refreshes.delete(uid);
        return this.refreshNow(uid);
      });
    return entry.next;
  }

  /**
   * Observes what was just started, with fewer calls than a refresh: the rest of the pod remains as last observed. Resolves when the
   * observed pods have what was started, in its state at the time of this call or later.
   */
  async started(id: PodId, parts: StartedParts): Promise<void> {
    if (this.#o.onDemand === false || !(await this.#inspectParts(id, parts))) await this.refresh(id.uid);
  }

  /** Observes one sandbox or container that the runtime reports as stopped. The rest of the pod remains as last observed, if it is known. */
  async stopped(uid: PodUid, id: string): Promise<void> {
    const pod = this.#o.observed.get(uid);
    const sandbox = pod?.sandboxes.find((s) => s.id === id);
    const container = pod?.containers.find((c) => c.id === id);
    if (!pod || !(sandbox || container)) return this.refreshNow(uid);
    const inspecting = this.#inspectParts(pod, {
      sandbox: sandbox?.id,
      containers: container ? [{ ...container, image: container.listedImage ?? "" }] : [],
    });
    const all = this.#inspecting.get(uid) ?? new Set();
    this.#inspecting.set(uid, all.add(inspecting));
    const isFound = await inspecting.finally(() => {
      all.delete(inspecting);
      if (all.size === 0) this.#inspecting.delete(uid);
    });
    if (!isFound) await this.refreshNow(uid);
  }

  /** Resolves to false if one of the parts is gone. */
  async #inspectParts(
    { uid, name, namespace }: PodId,
    { sandbox, containers }: StartedParts,
  ): Promise<boolean> {
    const sequence = ++this.#sequence;
    const [foundSandbox, ...foundContainers] = await Promise.all([
      sandbox === undefined ? undefined : this.#inspectSandbox(sandbox),
      ...containers.map((container) => this.#inspectContainer(container)),
    ]);
    // A listing that began later has these parts.
    if (this.#isStale(uid, sequence)) return true;
    const isFound = (sandbox === undefined) === (foundSandbox === undefined);
    if (!isFound || foundContainers.includes(undefined)) return false;
    const pod: ObservedPod = {
      uid,
      name,
      namespace,
      sandboxes: foundSandbox ? [foundSandbox] : [],
      containers: foundContainers.filter((container) => container !== undefined),
    };
    const parts = [...(this.#parts.get(uid) ?? []), { sequence, pod }];
    this.#parts.set(
      uid,
      parts.sort((a, b) => a.sequence - b.sequence),
    );
    this.#set(uid, this.#withPartsSince(uid, this.#o.observed.get(uid), sequence - 1));
    return true;
  }

  /**
   * True if the runtime has no sandbox and no container of this pod, so that a refresh is not needed. It is certain only after a relist
   * that began when no call of a previous agent could still be running in the runtime.
   */
  isAbsent(uid: PodUid): boolean {
    const { observed } = this.#o;
    return this.#isSettled && observed.get(uid) === undefined && observed.knows(uid);
  }

  /** The kernel killed a process of this container because memory ran out. */
  oomKilled(id: ContainerId): void {
    this.#oomKilled.delete(id);
    this.#oomKilled.add(id);
    const [oldest] = this.#oomKilled;
    if (this.#oomKilled.size > maxOomKilled && oldest !== undefined) this.#oomKilled.delete(oldest);
    const { observed, onEvent } = this.#o;
    const before = [...observed.all()].find(({ containers }) => containers.some((c) => c.id === id));
    const after = before && this.#withOomKills(before);
    if (!after || after === before) return;
    observed.set(after);
    for (const event of podEvents(after.uid, before, after)) onEvent(event);
  }

  #withOomKills(pod: ObservedPod): ObservedPod {
    return withOomKills(pod, (id) => this.#oomKilled.has(id));
  }

  async #refreshOne(uid: PodUid): Promise<void> {
    const sequence = ++this.#sequence;
    const { runtime, clock, metrics } = this.#o;
    const startedAt = clock.monotonic();
    const byLabel = { labelSelector: { [labelPodUid]: uid } };
    const isForeign = this.#foreign.has(uid);
    try {
      const [sandboxes, containers] = await Promise.all([
        runtime.listPodSandboxes(isForeign ? { id: uid } : byLabel, { signal: this.#signal }),
        isForeign ? [] : runtime.listContainers(byLabel, { signal: this.#signal }),
      ]);
      await Promise.allSettled(this.#inspecting.get(uid) ?? []);
      await this.#apply(uid, groupByPod(sandboxes, containers).get(uid), sequence);
    } finally {
      metrics?.podRelisted(msSince(clock, startedAt));
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    let failing = false;
    while (!signal.aborted) {
      this.#wake.reset();
      try {
        await this.#measuredRelist();
        if (failing) logger.info("Relist succeeded again");
        failing = false;
      } catch (error) {
        if (signal.aborted) return;
        this.#lastError = messageOf(error);
        if (!failing) logger.warn("Failed to relist pods", { err: this.#lastError });
        failing = true;
      }
      // After a failure the next attempt waits.
      if (failing) this.#wake.reset();
      await this.#wake.wait(clock, failing ? 1000 : this.#o.relistEveryMs(), signal);
    }
  }

  async #measuredRelist(): Promise<void> {
    const { clock, metrics } = this.#o;
    const startedAt = clock.monotonic();
    metrics?.relistStarted(this.#listedAt === undefined ? undefined : msBetween(this.#listedAt, startedAt));
    const awaiting = this.#awaiting;
    this.#awaiting = new Map();
    try {
      await this.#relist(startedAt, awaiting);
      for (const each of awaiting.values()) each.resolve();
    } catch (error) {
      for (const each of awaiting.values()) each.reject(error);
      throw error;
    } finally {
      metrics?.relistFinished(msSince(clock, startedAt));
    }
  }

  async #relist(
    startedAt: MonotonicTime,
    awaiting: ReadonlyMap<PodUid, PromiseWithResolvers<void>>,
  ): Promise<void> {
    const { runtime, observed, clock, logger } = this.#o;
    const sequence = ++this.#sequence;
    const [sandboxes, containers] = await Promise.all([
      runtime.listPodSandboxes(undefined, { signal: this.#signal }),
      runtime.listContainers(undefined, { signal: this.#signal }),
    ]);
    this.#listedAt = startedAt;
    this.#o.metrics?.listed(clock.wall());
    const listed = groupByPod(sandboxes, containers);
    this.#foreign = new Set(sandboxes.map(({ id }) => id).filter((id) => listed.has(id as PodUid)));
    const uids = new Set([...listed.keys(), ...[...observed.all()].map((p) => p.uid)]);
    let complete = true;
    for (const uid of uids) {
      try {
        await this.#apply(uid, listed.get(uid), sequence);
      } catch (error) {
        // One pod that cannot be inspected must not hide the others; the next relist tries it again.
        complete = false;
        awaiting.get(uid)?.reject(error);
        this.#lastError = messageOf(error);
        logger.debug(2, "Failed to inspect pod", { podUID: uid, err: this.#lastError });
        if (this.#signal.aborted) throw error;
      }
    }
    observed.relisted(listed);
    if (complete) {
      this.#completeFrom = sequence;
      this.#isSettled ||= msBetween(this.#startedAt, startedAt) >= settleMs;
    }
    for (const [uid, from] of this.#appliedFrom)
      if (from <= this.#completeFrom && !observed.get(uid)) this.#appliedFrom.delete(uid);
    for (const uid of this.#changedAt.keys()) if (!observed.get(uid)) this.#changedAt.delete(uid);
    this.#lastRelistAt = clock.monotonic();
    this.#firstRelist.resolve();
  }

  async #apply(uid: PodUid, listed: ListedPod | undefined, sequence: number): Promise<void> {
    const { observed } = this.#o;
    if (this.#isStale(uid, sequence)) return;
    const inspected =
      listed &&
      (await this.#inspect(listed, observed.get(uid)).catch((error: unknown) => {
        observed.couldNotInspect(listed);
        throw error;
      }));
    if (this.#isStale(uid, sequence)) return;
    if (sequence > (this.#changedAt.get(uid) ?? sequence)) this.#changedAt.delete(uid);
    this.#appliedFrom.set(uid, sequence);
    const later = this.#parts.get(uid)?.filter((part) => part.sequence > sequence) ?? [];
    if (later.length > 0) this.#parts.set(uid, later);
    else this.#parts.delete(uid);
    this.#set(uid, this.#withPartsSince(uid, inspected, sequence));
  }

  /** A listing lacks what was observed of single parts since it began, and has what else has happened in the pod. */
  #withPartsSince(uid: PodUid, pod: ObservedPod | undefined, sequence: number): ObservedPod | undefined {
    const later = this.#parts.get(uid)?.filter((part) => part.sequence > sequence) ?? [];
    return later.reduce<ObservedPod | undefined>((result, part) => withParts(result, part.pod), pod);
  }

  #isStale(uid: PodUid, sequence: number): boolean {
    return (this.#appliedFrom.get(uid) ?? this.#completeFrom) > sequence;
  }

  #set(uid: PodUid, found: ObservedPod | undefined): void {
    const { observed, onEvent, clock } = this.#o;
    const after = found && this.#withOomKills(found);
    const before = observed.get(uid);
    if (after) observed.set(after);
    else observed.delete(uid);
    for (const event of podEvents(uid, before, after)) onEvent(event);
    if (after?.containers.some((c) => mayBecomeOomKilled(c, clock.wall()))) this.#refreshAgain(uid);
  }

  /** No event reports an OOM kill, and the runtime may detect it after the container has exited. */
  #refreshAgain(uid: PodUid): void {
    if (this.#refreshTimers.has(uid) || this.#signal.aborted) return;
    const cancel = this.#o.clock.after(refreshAgainMs, () => {
      this.#refreshTimers.delete(uid);
      if (!this.#signal.aborted) void this.refresh(uid).catch(() => {});
    });
    this.#refreshTimers.set(uid, cancel);
  }

  /** Requests the details of what is new or changed since the last listing, and keeps the known details of the rest. */
  async #inspect(listed: ListedPod, before: ObservedPod | undefined): Promise<ObservedPod | undefined> {
    const { clock } = this.#o;
    const knownSandboxes = new Map<string, ObservedSandbox>(before?.sandboxes.map((s) => [s.id, s]));
    const isChanged = this.#changedAt.has(listed.uid);
    const knownContainers = new Map<string, ObservedContainer>(
      before?.containers.filter((c) => !isChanged || c.state !== "running").map((c) => [c.id, c]),
    );
    const [sandboxes, containers] = await Promise.all([
      Promise.all(
        listed.sandboxes.map(
          (s) => knownSandbox(knownSandboxes.get(s.id), s) ?? this.#inspectSandbox(s.id as SandboxId),
        ),
      ),
      Promise.all(
        listed.containers.map(async (c) => {
          const known = knownContainers.get(c.id);
          if (known && isContainerUnchanged(known, c, clock.wall())) return known;
          return this.#inspectContainer({
            id: c.id as ContainerId,
            sandboxId: c.podSandboxId as SandboxId,
            image: c.image?.image ?? "",
          });
        }),
      ),
    ]);
    const pod: ObservedPod = {
      uid: listed.uid,
      name: listed.name,
      namespace: listed.namespace,
      sandboxes: sandboxes.filter((s) => s !== undefined),
      containers: containers.filter((c) => c !== undefined),
    };
    return pod.sandboxes.length + pod.containers.length > 0 ? pod : undefined;
  }

  async #inspectSandbox(id: SandboxId): Promise<ObservedSandbox | undefined> {
    const { runtime } = this.#o;
    const status = (await ifFound(runtime.podSandboxStatus(id, { signal: this.#signal })))?.status;
    return status && observedSandbox(status);
  }

  async #inspectContainer({
    id,
    sandboxId,
    image,
  }: StartedContainer): Promise<ObservedContainer | undefined> {
    const { runtime } = this.#o;
    const status = (await ifFound(runtime.containerStatus(id, { signal: this.#signal })))?.status;
    if (!status) return undefined;
    const message = await this.#terminationMessage(status);
    return { ...observedContainer(sandboxId, status, message), listedImage: image };
  }

  /** A message that cannot be read must not hide that the container has exited. */
  async #terminationMessage(status: ContainerStatus): Promise<string> {
    if (status.state !== ContainerState.CONTAINER_EXITED) return "";
    try {
      return await (this.#o.terminationMessage ?? terminationMessage)(status);
    } catch (error) {
      const container = status.labels[labelContainerName];
      this.#o.logger.warn("Failed to read termination message", { container, err: messageOf(error) });
      return "";
    }
  }
}

/** A sandbox or container that was removed between the listing and this call is treated as removed. */
async function ifFound<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if ((error as { grpcCode?: string }).grpcCode === "NOT_FOUND") return undefined;
    throw error;
  }
}
