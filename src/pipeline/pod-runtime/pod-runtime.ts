import type { Clock } from "../../base/clock.ts";
import { isAbort, KubeletError, messageOf, retryAtOf } from "../../base/errors.ts";
import type { ConcurrencyGate } from "../../base/gate.ts";
import type { Logger } from "../../base/logger.ts";
import type {
  ContainerConfigInit,
  ContainerId,
  PodSandboxConfigInit,
  RuntimeService,
} from "../../clients/cri/cri.ts";
import { formatDuration } from "../../config/duration.ts";
import { type Container, type Pod, type PodUid, podRef } from "../../model/pod.ts";
import type { PodEvents } from "../../model/pod-events.ts";
import { newestContainer, type ObservedPod } from "../../state/observed-pods.ts";
import { graceSecondsOf, killPod } from "./kill.ts";
import { isEmpty, type PlanContext, type PodPlan, planPod, type StartAction } from "./plan.ts";
import type { PodFiles } from "./pod-files.ts";
import { RestartBackoff } from "./restart-backoff.ts";

/** Why a container of a pod does not run, in the words that users know from its status. */
export interface Waiting {
  reason: string;
  message: string;
}

/** Where a sync tells what it is doing. */
export interface SyncReport {
  blockedOn(text: string): void;
  waiting(container: string, waiting: Waiting | undefined): void;
}

export interface EnsuredImage {
  ref: string;
  user: { uid?: bigint; username?: string };
}

export interface PodRuntimeOptions {
  runtime: RuntimeService;
  images: {
    /** Resolves with what to run. Fails with a KubeletError whose code is the waiting reason. */
    ensure(
      pod: Pod,
      container: Container,
      sandbox: PodSandboxConfigInit,
      options: { signal: AbortSignal; onPull: () => void },
    ): Promise<EnsuredImage>;
    forget(uid: PodUid): void;
  };
  requests: {
    sandbox(pod: Pod, attempt: number): Promise<PodSandboxConfigInit>;
    container(
      pod: Pod,
      container: Container,
      made: { attempt: number; image: EnsuredImage; podIPs: readonly string[] },
    ): Promise<ContainerConfigInit>;
    hashOf(container: Container): string;
    runtimeHandler(pod: Pod): string;
  };
  cgroups: {
    ensure(pod: Pod): Promise<void>;
    remove(uid: PodUid): Promise<void>;
  };
  files: PodFiles;
  observe: {
    get(uid: PodUid): ObservedPod | undefined;
    refresh(uid: PodUid): Promise<void>;
  };
  gate: ConcurrencyGate;
  clock: Clock;
  logger: Logger;
  events: PodEvents;
  /** The longest a container that keeps ending has to wait. */
  maxRestartDelayMs: number;
}

/** The state of a pod after a sync that had nothing left to do. */
export interface SyncResult {
  /** When there will be something to do. */
  wakeAt?: number;
  /** What the pod waits for, if it does. */
  waitingFor?: string;
}

/** A stage plans again after it acted; a pod that needs more stages than this in one go is looked at later. */
const mostStages = 50;

/**
 * Makes the runtime run a pod as its spec says: plans, acts, looks, and plans again until nothing is left to do.
 *
 * A call that makes something is never cancelled: a runtime that is cut off in the middle of a start may keep half a
 * container that it then cannot remove. An abort takes effect between two calls.
 */
export class PodRuntime {
  readonly #o: PodRuntimeOptions;
  readonly #restarts: RestartBackoff;
  /** Pods that were looked at since they were last changed. What is known of any other may be older, or nothing. */
  #seen = new Set<PodUid>();

  constructor(options: PodRuntimeOptions) {
    this.#o = options;
    this.#restarts = new RestartBackoff(options.maxRestartDelayMs);
  }

  async sync(pod: Pod, report: SyncReport, signal: AbortSignal): Promise<SyncResult> {
    const { observe } = this.#o;
    const uid = pod.metadata.uid;
    if (!this.#seen.has(uid)) await this.#look(uid);
    for (let stage = 0; stage < mostStages; stage++) {
      signal.throwIfAborted();
      const plan = planPod(pod, observe.get(uid), this.#context(pod));
      const waitingFor = this.#explain(pod, plan, report);
      if (isEmpty(plan))
        return { wakeAt: plan.delays.reduce<number | undefined>(earliest, undefined), waitingFor };
      try {
        await this.#apply(pod, plan, report, signal);
      } finally {
        // Whatever was done or half done must be seen before anyone plans again.
        await this.#look(uid);
      }
    }
    return { wakeAt: this.#o.clock.now() + 1000 };
  }

  async #look(uid: PodUid): Promise<void> {
    this.#seen.delete(uid);
    await this.#o.observe.refresh(uid);
    this.#seen.add(uid);
  }

  /** Ends all containers and sandboxes of a pod. Done when none of them runs. */
  async stop(
    uid: PodUid,
    pod: Pod | undefined,
    options: { graceSeconds?: number; signal: AbortSignal; report: SyncReport },
  ): Promise<void> {
    const { runtime, observe, events } = this.#o;
    await observe.refresh(uid);
    const seen = observe.get(uid);
    if (!seen) return;
    options.report.blockedOn("stopping containers");
    try {
      await killPod(runtime, seen, pod, {
        ...options,
        onStop: (c) => pod && events.normal(pod, "Killing", `Stopping container ${c.name}`),
      });
    } finally {
      await observe.refresh(uid);
    }
    const left = observe.get(uid)?.containers.filter((c) => c.state === "running");
    if (left?.length)
      throw new KubeletError("KillPod", `containers still run: ${left.map((c) => c.name).join(", ")}`);
  }

  /** Removes the cgroup of a pod whose containers have ended. */
  async release(uid: PodUid): Promise<void> {
    this.#seen.delete(uid);
    await this.#o.cgroups.remove(uid);
    this.#restarts.forget(`${uid}/`);
    this.#o.images.forget(uid);
  }

  /** Removes everything of a pod that has ended: containers, sandboxes, logs, folders. */
  async remove(id: { uid: PodUid; name: string; namespace: string }, signal: AbortSignal): Promise<void> {
    const { runtime, observe, files } = this.#o;
    await observe.refresh(id.uid);
    const seen = observe.get(id.uid);
    const failures: unknown[] = [];
    const attempt = (work: Promise<void>) => work.catch((error) => void failures.push(error));
    await Promise.all(seen?.containers.map((c) => attempt(runtime.removeContainer(c.id, { signal }))) ?? []);
    await Promise.all(seen?.sandboxes.map((s) => attempt(runtime.removePodSandbox(s.id, { signal }))) ?? []);
    await files.remove(id);
    if (seen) await observe.refresh(id.uid);
    if (failures.length > 0) throw failures[0];
  }

  #context(pod: Pod): PlanContext {
    const { clock, requests } = this.#o;
    return {
      now: clock.now(),
      hashOf: (container) => requests.hashOf(container),
      restartAt: (container, ended) => this.#restarts.restartAt(this.#key(pod, container), ended),
    };
  }

  #key(pod: Pod, container: Container): string {
    return `${pod.metadata.uid}/${container.name}/${this.#o.requests.hashOf(container)}`;
  }

  /** Tells why containers wait; returns it in one line. */
  #explain(pod: Pod, plan: PodPlan, report: SyncReport): string | undefined {
    let { waitingFor } = plan;
    if (plan.sandbox) {
      const waits = new Set([
        ...plan.delays.map((d) => d.container),
        ...plan.start.map((a) => a.container.name),
      ]);
      for (const { name } of allContainers(pod)) if (!waits.has(name)) report.waiting(name, undefined);
    }
    for (const delay of plan.delays) {
      const container = allContainers(pod).find((c) => c.name === delay.container)!;
      const pause = formatDuration(this.#restarts.delayMs(this.#key(pod, container)));
      const name = `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
      const message = `back-off ${pause} restarting failed container=${delay.container} pod=${name}`;
      report.waiting(delay.container, { reason: "CrashLoopBackOff", message });
      const until = new Date(delay.until).toISOString();
      waitingFor = `back-off ${pause} until ${until} before restarting ${delay.container}`;
    }
    return waitingFor;
  }

  async #apply(pod: Pod, plan: PodPlan, report: SyncReport, signal: AbortSignal): Promise<void> {
    const { runtime, observe, events } = this.#o;
    const seen = observe.get(pod.metadata.uid);
    if (plan.killAll && seen) {
      report.blockedOn(`stopping: ${plan.killAll}`);
      events.normal(pod, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
      await killPod(runtime, seen, pod, { signal });
    }
    const failures: unknown[] = [];
    await Promise.all(
      plan.kill.map(({ container, reason }) => {
        events.normal(pod, "Killing", reason);
        return runtime
          .stopContainer(container.id, graceSecondsOf(pod, container), { signal })
          .catch((error) => void failures.push(error));
      }),
    );
    signal.throwIfAborted();
    failures.push(...(await this.#removeLeftovers(pod, plan)));
    if (plan.createSandbox) await this.#createSandbox(pod, plan.createSandbox.attempt, report, signal);
    await this.#startAll(pod, plan, report, signal);
    if (failures.length > 0) throw failures[0];
  }

  /** What cannot be removed must not keep the rest of the pod from running: it is tried again with the next sync. */
  async #removeLeftovers(pod: Pod, plan: PodPlan): Promise<unknown[]> {
    const { runtime, files } = this.#o;
    const failures: unknown[] = [];
    const attempt = (work: Promise<void>) => work.catch((error) => void failures.push(error));
    await Promise.all(
      plan.removeContainers.map((container) =>
        attempt(runtime.removeContainer(container.id).then(() => files.dropLogs(pod, container))),
      ),
    );
    await Promise.all(
      plan.removeSandboxes.map((sandbox) =>
        attempt(runtime.stopPodSandbox(sandbox.id).then(() => runtime.removePodSandbox(sandbox.id))),
      ),
    );
    return failures;
  }

  async #createSandbox(pod: Pod, attempt: number, report: SyncReport, signal: AbortSignal): Promise<void> {
    const { runtime, requests, cgroups, files, gate, events } = this.#o;
    report.blockedOn("waiting for its turn to start");
    await files.make(pod);
    await cgroups.ensure(pod);
    const config = await requests.sandbox(pod, attempt);
    const create = () => {
      report.blockedOn("creating the sandbox");
      return runtime.runPodSandbox(config, requests.runtimeHandler(pod));
    };
    try {
      await gate.run(create, { signal, priority: pod.spec.priority });
    } catch (error) {
      if (isAbort(error)) throw error;
      events.warning(pod, "FailedCreatePodSandBox", `Failed to create pod sandbox: ${messageOf(error)}`);
      throw new KubeletError("CreatePodSandboxError", `creating the sandbox: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  /** Starts the planned containers in their order. One that fails does not keep the others from starting. */
  async #startAll(pod: Pod, plan: PodPlan, report: SyncReport, signal: AbortSignal): Promise<void> {
    const failures: unknown[] = [];
    for (const action of plan.start) {
      try {
        await this.#start(pod, plan, action, report, signal);
        report.waiting(action.container.name, undefined);
      } catch (error) {
        if (isAbort(error)) throw error;
        const reason = error instanceof KubeletError ? error.code : "RunContainerError";
        report.waiting(action.container.name, { reason, message: messageOf(error) });
        failures.push(error);
      }
    }
    if (failures.length === 0) return;
    const retries = failures.map(retryAtOf);
    const soonest = retries.every((at) => at !== undefined) ? Math.min(...retries) : undefined;
    const [first] = failures;
    const code = first instanceof KubeletError ? first.code : "RunContainerError";
    const retryAt = soonest && Math.min(soonest, ...plan.delays.map((d) => d.until));
    throw new KubeletError(code, messageOf(first), { cause: first, retryAt });
  }

  async #start(
    pod: Pod,
    plan: PodPlan,
    action: StartAction,
    report: SyncReport,
    signal: AbortSignal,
  ): Promise<void> {
    const { runtime, images, requests, files, gate, events, observe, clock, logger } = this.#o;
    const { container, attempt } = action;
    const sandbox = plan.sandbox!;
    const ended = newestContainer(observe.get(pod.metadata.uid), container.name);
    const sandboxConfig = await requests.sandbox(pod, sandbox.attempt);
    const image = await images.ensure(pod, container, sandboxConfig, {
      signal,
      onPull: () => report.blockedOn(`pulling image ${container.image}`),
    });
    report.blockedOn(`starting container ${container.name}`);
    await files.makeContainer(pod, container.name);
    const config = await requests
      .container(pod, container, { attempt, image, podIPs: sandbox.ips })
      .catch((error) => {
        throw named(error, "CreateContainerConfigError");
      });
    const failed = (error: unknown) => {
      if (!isAbort(error)) events.warning(pod, "Failed", `Error: ${messageOf(error)}`);
    };
    const id = await gate.run(
      async () => {
        let id: ContainerId;
        try {
          id = await runtime.createContainer(sandbox.id, config, sandboxConfig);
        } catch (error) {
          failed(error);
          throw named(error, "CreateContainerError");
        }
        events.normal(pod, "Created", `Container created: ${container.name}`);
        // A start that fails counts too, or a container that cannot start would never wait.
        if (ended?.state === "exited")
          this.#restarts.restarted(this.#key(pod, container), ended, clock.now());
        try {
          await runtime.startContainer(id);
        } catch (error) {
          failed(error);
          throw named(error, "RunContainerError");
        } finally {
          await files.linkLog(pod, container.name, attempt, id);
        }
        return id;
      },
      { signal, priority: pod.spec.priority },
    );
    events.normal(pod, "Started", `Container started: ${container.name}`);
    logger.debug(2, "Container started", { pod: podRef(pod), container: container.name, id, attempt });
  }
}

export function allContainers(pod: Pod): Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

function named(error: unknown, code: string): unknown {
  if (isAbort(error) || (error instanceof KubeletError && error.name === "KubeletError")) return error;
  return new KubeletError(code, messageOf(error), { cause: error });
}

function earliest(best: number | undefined, delay: { until: number }): number {
  return best === undefined ? delay.until : Math.min(best, delay.until);
}
