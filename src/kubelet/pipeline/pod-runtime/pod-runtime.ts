import { allDone } from "../../../lib/base/all-done.ts";
import { type Clock, msFromNow, wallTimeOf } from "../../../lib/base/clock.ts";
import type { ConcurrencyLimiter } from "../../../lib/base/concurrency-limiter.ts";
import { isAbort, KubeletError, messageOf, retryAtOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { dateOf, earliest, epochMs, type MonotonicTime } from "../../../lib/base/time.ts";
import type {
  ContainerConfigInit,
  ContainerId,
  PodSandboxConfigInit,
  RuntimeService,
  SandboxId,
} from "../../../lib/clients/cri/cri.ts";
import { CriError, hasGrpcCode, rpcErrorText } from "../../../lib/clients/cri/cri-error.ts";
import { formatDuration } from "../../../lib/config/duration.ts";
import { startPriority } from "../../../lib/model/critical-pod.ts";
import { type Container, type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { EnsuredImage, SyncReport, SyncResult } from "../../../lib/model/pod-sync.ts";
import {
  newestContainer,
  type ObservedContainer,
  type ObservedPod,
  type ObservedPods,
  runningContainers,
  type StartedContainer,
  type StartedParts,
} from "../../state/observed-pods.ts";
import type { ProbeResults } from "../../state/probe-results.ts";
import type { ReplacedContainers } from "../../state/replaced-containers.ts";
import type { StartingContainers } from "../../state/starting-containers.ts";
import type { Pleg } from "../pleg/pleg.ts";
import { type Hooks, type KillDeps, killContainer, killPod, podWithoutSpec } from "./kill.ts";
import { planPod } from "./plan/plan-pod.ts";
import { type Delay, isEmpty, onlyStarts, type PlanContext, type PodPlan } from "./plan/pod-plan.ts";
import type { PodFiles } from "./pod-files.ts";
import { memoryStillInUse, PodResizer, type PodResizing } from "./resize-pod.ts";
import { RestartBackoff, restartKey } from "./restart-backoff.ts";
import { ContainerStarter } from "./start-container.ts";
import type { StartMetrics } from "./start-metrics.ts";
import { StopTracker } from "./stop-tracker.ts";

/** The kinds of starts that the concurrency limiter distinguishes. */
export type StartKind = "restart" | "container" | "sandbox";

export interface PodRuntimeOptions {
  runtime: RuntimeService;
  images: {
    /** Resolves with the image to run. Fails with a KubeletError whose code is the waiting reason. */
    ensure(
      pod: Pod,
      container: Container,
      sandbox: PodSandboxConfigInit,
      options: { signal: AbortSignal; onPull: (waitsFor: string) => void },
    ): Promise<EnsuredImage>;
    /** Pulls the images of a pod that starts, before its containers need them. Later calls do nothing. */
    prefetch?(pod: Pod, sandbox: () => Promise<PodSandboxConfigInit>): void;
    cancelPrefetch?(uid: PodUid): void;
    forget(uid: PodUid): void;
  };
  requests: {
    sandbox(pod: Pod, attempt: number): Promise<PodSandboxConfigInit>;
    container(
      pod: Pod,
      container: Container,
      input: {
        attempt: number;
        image: EnsuredImage;
        podIPs: readonly string[];
        observed?: ObservedPod;
        signal: AbortSignal;
      },
    ): Promise<ContainerConfigInit>;
    hashOf(container: Container): string;
    runtimeHandler(pod: Pod): string;
  };
  cgroups: {
    ensure(pod: Pod): Promise<void>;
    exists?(pod: Pod): Promise<boolean>;
    remove(uid: PodUid): Promise<void>;
    /** Kills and removes the cgroups of containers in the pod's cgroup, except the known ones. Resolves to what it has removed. */
    removeUnknown?(pod: Pod, knownIds: ReadonlySet<string>): Promise<string[]>;
  };
  files: PodFiles;
  observed: Pick<ObservedPods, "get">;
  /** `changed`: containers of the pod were changed in place, and the next refresh has to request their details again. */
  pleg: Pick<Pleg, "refresh" | "isAbsent" | "started"> & Partial<Pick<Pleg, "changed">>;
  limiter: ConcurrencyLimiter<StartKind>;
  clock: Clock;
  logger: Logger;
  events: PodEvents;
  hooks: Hooks;
  metrics?: StartMetrics;
  /** The maximum restart delay of a container that keeps exiting. */
  maxRestartDelayMs: number;
  /** The initial delay; it doubles with each restart. */
  firstRestartDelayMs?: number;
  probes: Pick<ProbeResults, "get">;
  /** Written here; the status needs it too, to distinguish a replaced container from a completed one. */
  replaced: ReplacedContainers;
  /** Written here; the status does not report these as running yet. */
  starting: StartingContainers;
  /** A container runs with the resources that the pod has now. */
  onStarted?: (pod: Pod, container: Container) => void;
  /** Without it the resources of a pod never change while it runs. */
  resizing?: PodResizing;
  gates?: PlanContext["gates"];
  maxDeadPerContainer?: number;
  minDeadAgeMs?: number;
}

/** A pod that needs more stages than this in one sync is synced again later. */
const maxStages = 50;

/**
 * Makes the runtime run a pod according to its spec: plans, applies, observes, and plans again until nothing is left to do.
 *
 * A call that creates something is never canceled: a runtime whose start is canceled may keep an incomplete container that it cannot
 * remove. An abort takes effect between two calls.
 */
export class PodRuntime {
  readonly #o: PodRuntimeOptions;
  readonly #restarts: RestartBackoff;
  readonly #kill: KillDeps;
  readonly #starter: ContainerStarter;
  readonly #resizer: PodResizer | undefined;
  /** Pods that were refreshed since they were last changed. The observed state of others may be stale or missing. */
  #refreshed = new Set<PodUid>();
  /** Pods that were changed, and could not be refreshed after that. */
  #unobserved = new Set<PodUid>();
  /** The end of the back-off that was last reported, by container. */
  #reportedBackOff = new Map<PodUid, Map<string, MonotonicTime>>();

  constructor(options: PodRuntimeOptions) {
    this.#o = options;
    this.#restarts = new RestartBackoff(
      options.clock,
      options.maxRestartDelayMs,
      options.firstRestartDelayMs,
    );
    this.#kill = { ...options, stops: new StopTracker() };
    const { resizing } = options;
    this.#resizer =
      resizing &&
      new PodResizer({
        ...options,
        resizing,
        removeUnknownCgroups: (pod) => this.#removeUnknownCgroups(pod),
      });
    this.#starter = new ContainerStarter({
      ...options,
      onRestart: (pod, container, exited) => this.#restarts.restarted(restartKey(pod, container), exited),
      kill: (pod, { id, name }, signal) =>
        killContainer(this.#kill, {
          pod,
          observed: options.observed.get(pod.metadata.uid) ?? { ...pod.metadata, sandboxes: [] },
          container: { id, name },
          message: "FailedPostStartHook",
          signal,
        }),
    });
  }

  /** Called with each sync, before the pod has its volumes. */
  prefetch(pod: Pod): void {
    const { images, requests, observed } = this.#o;
    // Containers that have run before have their images.
    const isNew = (observed.get(pod.metadata.uid)?.containers.length ?? 0) === 0;
    if (isNew) images.prefetch?.(pod, () => requests.sandbox(pod, 0));
  }

  async sync(pod: Pod, report: SyncReport, signal: AbortSignal): Promise<SyncResult> {
    const uid = pod.metadata.uid;
    if (!this.#isCurrent(uid)) await this.#determineStatus(pod, signal);
    await this.#stopOutsideCgroup(pod, report, signal);
    let isNew = false;
    for (let stage = 0; stage < maxStages; stage++) {
      signal.throwIfAborted();
      const plan = planPod(pod, this.#o.observed.get(uid), this.#context(pod));
      const waits = this.#reportWaits(pod, plan, report);
      if (plan.resize || isEmpty(plan)) this.#o.resizing?.resizes.progressed(pod, plan.resize !== undefined);
      if (isEmpty(plan))
        return {
          wakeAt: earliestRestart(plan.delays),
          waitingFor: waits?.waitingFor,
          ...(waits?.waitsOn && { waitsOn: waits.waitsOn }),
          finished: plan.finished,
        };
      isNew ||= plan.createSandbox !== undefined;
      let started: StartedParts | undefined;
      try {
        started = await this.#apply(pod, plan, report, signal);
      } catch (error) {
        if (isNew && !isAbort(error) && !signal.aborted) this.#o.metrics?.firstSyncFailed(pod);
        throw error;
      } finally {
        // The result must be observed before the next plan, even after a failure.
        await this.#observe(pod, onlyStarts(plan) ? started : undefined).catch((error: unknown) => {
          if (plan.createSandbox) this.#reportUnknownSandbox(pod, error);
          throw error;
        });
      }
    }
    return { wakeAt: msFromNow(this.#o.clock, 1000) };
  }

  async #determineStatus(pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      await this.#refresh(pod.metadata.uid);
    } catch (error) {
      // A runtime that is unavailable is a problem of the node.
      if (!signal.aborted && !isAbort(error) && !hasGrpcCode(error, "UNAVAILABLE"))
        this.#o.events.warning(pod, "FailedSync", `error determining status: ${rpcErrorText(error)}`);
      throw error;
    }
  }

  #reportUnknownSandbox(pod: Pod, error: unknown): void {
    if (!(error instanceof CriError) || error.method !== "PodSandboxStatus") return;
    const message = `Unable to get pod sandbox status: ${rpcErrorText(error)}`;
    this.#o.events.warning(pod, "FailedPodSandBoxStatus", message);
  }

  /** Containers that run although the cgroup of their pod is gone have no limits of the pod. They start again in a new cgroup. */
  async #stopOutsideCgroup(pod: Pod, report: SyncReport, signal: AbortSignal): Promise<void> {
    const { cgroups, logger } = this.#o;
    const { uid } = pod.metadata;
    const observed = this.#o.observed.get(uid);
    if (!observed || runningContainers(observed).length === 0) return;
    if ((await cgroups.exists?.(pod)) !== false) return;
    logger.warn("Cgroup of a running pod is gone, restarting its containers", {
      pod: podRef(pod),
      podUID: uid,
    });
    report.blockedOn("stopping containers that run outside of the cgroup of the pod", { kind: "stop" });
    try {
      await this.#killPod(observed, pod, { signal });
    } finally {
      await this.#refresh(uid);
    }
  }

  async #killPod(
    observed: ObservedPod,
    pod: Pod | undefined,
    options: { graceSeconds?: number; signal: AbortSignal },
  ): Promise<void> {
    try {
      await killPod(this.#kill, observed, pod, options);
    } catch (error) {
      if (!options.signal.aborted) {
        const message = `error killing pod: ${messageOf(error)}`;
        this.#o.events.warning(pod ?? podWithoutSpec(observed), "FailedKillPod", message);
      }
      throw error;
    }
  }

  /** The observed state equals the runtime's, unless another client has changed something. */
  #isCurrent(uid: PodUid): boolean {
    return this.#refreshed.has(uid) || (!this.#unobserved.has(uid) && this.#o.pleg.isAbsent(uid));
  }

  #refresh(uid: PodUid): Promise<void> {
    return this.#observeAs(uid, () => this.#o.pleg.refresh(uid));
  }

  /** Observes what was started. Without `started` it refreshes the whole pod, any part of which may have changed. */
  #observe({ metadata: { uid, name, namespace } }: Pod, started: StartedParts | undefined): Promise<void> {
    if (!started) return this.#refresh(uid);
    return this.#observeAs(uid, () => this.#o.pleg.started({ uid, name, namespace }, started));
  }

  async #observeAs(uid: PodUid, observe: () => Promise<void>): Promise<void> {
    this.#refreshed.delete(uid);
    this.#unobserved.add(uid);
    await observe();
    this.#unobserved.delete(uid);
    this.#refreshed.add(uid);
  }

  /** Stops all containers and sandboxes of a pod. Resolves when none of them runs. */
  async stop(
    uid: PodUid,
    pod: Pod | undefined,
    options: { graceSeconds?: number; signal: AbortSignal; report: SyncReport },
  ): Promise<void> {
    this.#o.images.cancelPrefetch?.(uid);
    // Nothing was found after a start: one that failed may have left a sandbox since.
    const wasEmpty = this.#refreshed.has(uid) && !this.#o.observed.get(uid);
    if (wasEmpty || !this.#isCurrent(uid)) await this.#refresh(uid);
    const observed = this.#o.observed.get(uid);
    if (!observed) return;
    options.report.blockedOn("stopping containers", { kind: "stop" });
    try {
      await this.#killPod(observed, pod, options);
    } finally {
      // It also finds what a start that timed out has left.
      await this.#refresh(uid);
    }
    const after = this.#o.observed.get(uid);
    const known = new Set(observed.sandboxes.map(({ id }) => id));
    const late = after?.sandboxes.filter(({ id, state }) => state === "ready" && !known.has(id));
    if (late?.length) throw new KubeletError("KillPod", "sandboxes have appeared while the pod was stopped");
    const left = after?.containers.filter((c) => c.state === "running");
    if (left?.length)
      throw new KubeletError(
        "KillPod",
        `containers are still running: ${left.map((c) => c.name).join(", ")}`,
      );
  }

  /** Removes the cgroup of a pod whose containers have exited. */
  async release(uid: PodUid): Promise<void> {
    await this.#o.cgroups.remove(uid);
    this.#kill.stops.forget(uid);
    this.#o.limiter.forget(uid);
    this.#o.replaced.forget(uid);
    this.#o.starting.forget(uid);
    this.#reportedBackOff.delete(uid);
    this.#o.images.forget(uid);
  }

  /** Removes everything of a terminated pod: containers, sandboxes, logs, directories. */
  async remove(id: { uid: PodUid; name: string; namespace: string }, signal: AbortSignal): Promise<void> {
    const { runtime, files } = this.#o;
    const { uid } = id;
    if (!this.#isCurrent(uid)) await this.#refresh(uid);
    const observed = this.#o.observed.get(uid);
    // The back-off is kept until here: a pod that starts again continues the back-off of its dead containers.
    this.#restarts.forget(`${uid}/`);
    const failures: unknown[] = [];
    const attempt = (work: Promise<void>) => work.catch((error) => void failures.push(error));
    await Promise.all(
      observed?.containers.map((c) => attempt(runtime.removeContainer(c.id, { signal }))) ?? [],
    );
    await Promise.all(
      observed?.sandboxes.map((s) => attempt(runtime.removePodSandbox(s.id, { signal }))) ?? [],
    );
    await files.remove(id);
    if (observed) await this.#refresh(uid);
    if (failures.length > 0) throw failures[0];
    // What the list of the stopped pod did not have: a previous agent's call may have created it since.
    if (this.#o.observed.get(uid))
      throw new KubeletError("RemovePod", "the runtime still has parts of the pod");
    this.#refreshed.delete(uid);
    this.#unobserved.delete(uid);
    this.#kill.stops.forget(uid);
  }

  /** The containers of a pod that are being stopped, the end of their grace period, and whether their hook is still running. */
  stopping(uid: PodUid): { id: ContainerId; endsAt: MonotonicTime; inHook: boolean }[] {
    return this.#kill.stops.of(uid);
  }

  /** Stops a running container on request; its restart policy decides whether it starts again. False if it does not run. */
  async stopContainer(pod: Pod, name: string, signal: AbortSignal): Promise<boolean> {
    const observed = this.#o.observed.get(pod.metadata.uid);
    const container = newestContainer(observed, name);
    if (!observed || container?.state !== "running") return false;
    const message = `Container ${name} was requested to restart`;
    await killContainer(this.#kill, { pod, observed, container, message, signal });
    return true;
  }

  /** The numbers of entries that are kept: 0 when all pods are gone. */
  get entryCounts() {
    return {
      stops: this.#kill.stops.size,
      restarts: this.#restarts.size,
      refreshed: this.#refreshed.size,
      unobserved: this.#unobserved.size,
      "reported back-offs": this.#reportedBackOff.size,
      "starts that hang": this.#o.limiter.blockedOwners,
    };
  }

  #context(pod: Pod): PlanContext {
    const { clock, requests } = this.#o;
    return {
      wall: clock.wall(),
      hashOf: (container) => requests.hashOf(container),
      restartAt: (container, exited) =>
        // It was stopped for its resize, perhaps by a previous agent.
        this.#o.resizing?.allocation.actionFor(pod, container, false) === "restart"
          ? undefined
          : this.#restarts.restartAt(restartKey(pod, container), exited, requests.hashOf(container)),
      probe: (kind, id) => this.#o.probes.get(kind, id),
      replaced: (container) => this.#o.replaced.has(pod.metadata.uid, container),
      resize: this.#resizeNeeds(pod),
      gates: this.#o.gates,
      maxDeadPerContainer: this.#o.maxDeadPerContainer,
      minDeadAgeMs: this.#o.minDeadAgeMs,
    };
  }

  #resizeNeeds(pod: Pod): PlanContext["resize"] {
    const { resizing } = this.#o;
    return (
      resizing && {
        actionFor: (container, isInit) => resizing.allocation.actionFor(pod, container, isInit),
        ofPod: resizing.allocation.needsPodResize(pod),
        repeats: resizing.allocation.isResizing(pod.metadata.uid),
      }
    );
  }

  /** Reports why containers wait; returns it in one line. */
  #reportWaits(
    pod: Pod,
    plan: PodPlan,
    report: SyncReport,
  ): Pick<SyncResult, "waitingFor" | "waitsOn"> | undefined {
    let waits = plan.waitingFor && { waitingFor: plan.waitingFor, waitsOn: plan.waitsOn };
    if (plan.sandbox) {
      const waits = new Set([
        ...plan.delays.map((d) => d.container),
        ...plan.start.map((a) => a.container.name),
      ]);
      for (const { name } of allContainers(pod)) if (!waits.has(name)) report.waiting(name, undefined);
    }
    for (const delay of plan.delays) {
      const container = allContainers(pod).find((c) => c.name === delay.container)!;
      const pause = formatDuration(this.#restarts.delayMs(restartKey(pod, container)));
      const name = `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
      const message = `back-off ${pause} restarting failed container=${delay.container} pod=${name}`;
      report.waiting(delay.container, { reason: "CrashLoopBackOff", message });
      this.#reportBackOff(pod, name, delay);
      const until = wallTimeOf(this.#o.clock, delay.until);
      waits = {
        waitingFor: `back-off ${pause} until ${dateOf(until).toISOString()} before restarting ${delay.container}`,
        waitsOn: { kind: "backoff", container: delay.container, until: epochMs(until) },
      };
    }
    return waits || undefined;
  }

  /** Reports each back-off once, however often the pod is synced during it. */
  #reportBackOff(pod: Pod, name: string, { container, until }: Delay): void {
    const { uid } = pod.metadata;
    const reported = this.#reportedBackOff.get(uid) ?? new Map<string, MonotonicTime>();
    this.#reportedBackOff.set(uid, reported);
    if (reported.get(container) === until) return;
    reported.set(container, until);
    const message = `Back-off restarting failed container ${container} in pod ${name}`;
    this.#o.events.warning(pod, "BackOff", message, container);
  }

  /** Resolves to what was started, if all of the plan was applied. */
  async #apply(pod: Pod, plan: PodPlan, report: SyncReport, signal: AbortSignal): Promise<StartedParts> {
    const { events } = this.#o;
    const observed = this.#o.observed.get(pod.metadata.uid);
    for (const container of plan.replaces) this.#replace(pod.metadata.uid, container, observed);
    if (plan.killAll && observed) {
      report.blockedOn(`stopping: ${plan.killAll}`, { kind: "stop" });
      if (plan.createSandbox)
        events.normal(pod, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
      await killPod(this.#kill, observed, pod, { signal });
    }
    const failures: unknown[] = [];
    await Promise.all(
      plan.kill.map((kill) =>
        killContainer(this.#kill, { pod, observed: observed!, ...kill, signal }).catch(
          (error) => void failures.push(error),
        ),
      ),
    );
    signal.throwIfAborted();
    const hasKilled = failures.length === 0;
    failures.push(...(await this.#removePlanned(pod, plan)));
    if (plan.resize && hasKilled) failures.push(...(await this.#resize(pod, plan, report)));
    const sandbox =
      plan.createSandbox && (await this.#createSandbox(pod, plan.createSandbox.attempt, report, signal));
    const containers = await this.#startAll(pod, plan, report, signal);
    if (failures.length > 0) throw failures[0];
    return { sandbox, containers };
  }

  #replace(uid: PodUid, container: ObservedContainer, observed: ObservedPod | undefined): void {
    const { name } = container;
    const previous = observed?.containers.find((c) => c.name === name && c.state === "exited");
    this.#o.replaced.mark(uid, container);
    this.#restarts.replacing(uid, container, previous);
  }

  /**
   * If it fails, containers that need the new resources are not started: they may not fit into the pod's cgroup. A limit that cannot
   * shrink yet is no such failure: the cgroup is as large as before.
   */
  async #resize(pod: Pod, plan: PodPlan, report: SyncReport): Promise<unknown[]> {
    const { pleg } = this.#o;
    const { uid } = pod.metadata;
    report.blockedOn("resizing the pod", { kind: "resize" });
    try {
      await this.#resizer?.resize(pod, plan.resize?.containers ?? [], this.#o.observed.get(uid)!);
      return [];
    } catch (error) {
      if (isAbort(error)) throw error;
      if (error instanceof KubeletError && error.code === memoryStillInUse) return [error];
      const needs = this.#resizeNeeds(pod);
      const isInit = (container: Container) => pod.spec.initContainers?.includes(container) ?? false;
      plan.start = plan.start.filter(
        ({ container }) => needs?.actionFor(container, isInit(container)) === "none",
      );
      return [error];
    } finally {
      pleg.changed?.(uid);
    }
  }

  /** A runtime may keep the process, and with it the cgroup, of a container whose start was interrupted. True if there was one. */
  async #removeUnknownCgroups(pod: Pod): Promise<boolean> {
    const { pleg, cgroups, logger } = this.#o;
    const { uid } = pod.metadata;
    await pleg.refresh(uid);
    const observed = this.#o.observed.get(uid);
    if (!observed || !cgroups.removeUnknown) return false;
    const known = new Set<string>([...observed.containers, ...observed.sandboxes].map(({ id }) => id));
    const removed = await cgroups.removeUnknown(pod, known);
    for (const cgroup of removed)
      logger.warn("Removed cgroup of a container that the runtime does not have", {
        pod: podRef(pod),
        podUID: uid,
        cgroup,
      });
    return removed.length > 0;
  }

  /** A failure must not prevent the rest of the pod from running: the next sync tries again. */
  async #removePlanned(pod: Pod, plan: PodPlan): Promise<unknown[]> {
    const { runtime, files } = this.#o;
    const failures: unknown[] = [];
    const attempt = (work: Promise<void>) => work.catch((error) => void failures.push(error));
    await Promise.all(
      plan.removeContainers.map((container) =>
        attempt(
          runtime
            .removeContainer(container.id)
            .then(() => (plan.restartsAll ? undefined : files.removeLogs(pod.metadata, container))),
        ),
      ),
    );
    await Promise.all(
      plan.removeSandboxes.map((sandbox) =>
        attempt(runtime.stopPodSandbox(sandbox.id).then(() => runtime.removePodSandbox(sandbox.id))),
      ),
    );
    const wasInterrupted = plan.removeContainers.some(({ state }) => state === "created");
    if (wasInterrupted) await attempt(this.#removeUnknownCgroups(pod).then(() => {}));
    return failures;
  }

  async #createSandbox(
    pod: Pod,
    attempt: number,
    report: SyncReport,
    signal: AbortSignal,
  ): Promise<SandboxId> {
    const { runtime, requests, cgroups, files, limiter, events, metrics } = this.#o;
    report.blockedOn("waiting for a start slot", { kind: "start-slot" });
    const create = async () => {
      report.blockedOn("creating the sandbox", { kind: "sandbox" });
      // Within the limit, too: the preparations of many pods would delay the first of them.
      await allDone([
        files.createPodDirs(pod).catch((error) => {
          events.warning(pod, "Failed", `error making pod data directories: ${messageOf(error)}`);
          throw error;
        }),
        cgroups.ensure(pod).catch((error) => {
          const message = `unable to ensure pod container exists: ${messageOf(error)}`;
          events.warning(pod, "FailedCreatePodContainer", message);
          throw error;
        }),
      ]);
      metrics?.podStarting(pod);
      try {
        const config = await requests.sandbox(pod, attempt);
        // The pod may have been terminated while it waited.
        signal.throwIfAborted();
        return await runtime.runPodSandbox(config, requests.runtimeHandler(pod));
      } catch (error) {
        if (isAbort(error) || signal.aborted) throw error;
        metrics?.podFailed();
        events.warning(pod, "FailedCreatePodSandBox", `Failed to create pod sandbox: ${rpcErrorText(error)}`);
        throw new KubeletError("CreatePodSandboxError", `creating the sandbox: ${messageOf(error)}`, {
          cause: error,
        });
      }
    };
    const owner = pod.metadata.uid;
    return limiter.run(create, { signal, owner, priority: startPriority(pod), kind: "sandbox" });
  }

  /** Starts the planned containers in order. A failure does not prevent the others from starting. */
  async #startAll(
    pod: Pod,
    plan: PodPlan,
    report: SyncReport,
    signal: AbortSignal,
  ): Promise<StartedContainer[]> {
    const failures: unknown[] = [];
    const started: StartedContainer[] = [];
    for (const action of plan.start) {
      try {
        started.push(await this.#starter.start(pod, plan.sandbox!, action, report, signal));
        report.waiting(action.container.name, undefined);
      } catch (error) {
        if (isAbort(error)) throw error;
        const reason = error instanceof KubeletError ? error.code : "RunContainerError";
        report.waiting(action.container.name, { reason, message: messageOf(error) });
        failures.push(error);
      }
    }
    if (failures.length === 0) return started;
    const retries = failures.map(retryAtOf);
    const [first] = failures;
    const code = first instanceof KubeletError ? first.code : "RunContainerError";
    const delays = plan.delays.map((delay) => delay.until);
    const retryAt = retries.every((at) => at !== undefined) ? earliest(...retries, ...delays) : undefined;
    throw new KubeletError(code, messageOf(first), { cause: first, retryAt });
  }
}

function allContainers(pod: Pod): Container[] {
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  return [...initContainers, ...containers, ...ephemeralContainers];
}

function earliestRestart(delays: readonly Delay[]): MonotonicTime | undefined {
  return delays.length === 0 ? undefined : earliest(...delays.map(({ until }) => until));
}
