import { isDeepStrictEqual } from "node:util";
import { orAbort } from "../../lib/base/abort.ts";
import { type Clock, msFromNow, sleep } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { messageOf } from "../../lib/base/errors.ts";
import { failureLog } from "../../lib/base/failure-log.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { WakeUp } from "../../lib/base/wait.ts";
import type { NodeEvents } from "../../lib/model/pod-events.ts";
import type { ClusterView } from "../cluster/cluster-view.ts";
import type { DeviceManager } from "../resources/devices/device-manager.ts";
import { isReady } from "./conditions.ts";
import { httpStatusOf, type NodeApi } from "./node-api.ts";
import { record } from "./node-events.ts";
import { initialNode, type NodeSettings } from "./node-object.ts";
import { changedFields, nodePatch } from "./node-patch.ts";
import {
  planStatus,
  type StatusInputs,
  type StatusPlan,
  schedulableEvent,
  withSystemLabels,
} from "./node-status.ts";
import type { NodeObject } from "./node-types.ts";
import { reconcileNode } from "./reconcile.ts";
import { ReportSchedule } from "./report-schedule.ts";
import { attempts, jittered, longestRetryMs, retryUntilDone } from "./retry.ts";
import type { StartupSteps } from "./startup-metrics.ts";

export interface NodeStatusOptions {
  api: NodeApi;
  /** The watched node, if there is one; saves a request for each update. */
  view?: Pick<ClusterView, "node">;
  settings: NodeSettings;
  /** All inputs of the status. */
  info: (signal: AbortSignal) => Promise<StatusInputs>;
  /** The reason for NotReady, without the cost of the whole status: it is polled until the node is ready for the first time. */
  notReady: () => readonly string[];
  /**
   * Whether the inputs are known. Right after the start they are not, and a status built from them would report a node as not
   * ready although it is.
   */
  isSettled?: () => boolean;
  registerNode: boolean;
  /** KubeletRegistrationGetOnExistsOnly: a node that may not be created is not requested either. */
  getOnExistsOnly: boolean;
  /** Whether device plugins have to register their resources again. */
  devices: Pick<DeviceManager, "isNewNode">;
  updateFrequencyMs: number;
  reportFrequencyMs: number;
  clock: Clock;
  random: () => number;
  events: NodeEvents;
  logger: Logger;
  /** The pod CIDRs of this node, when they change. */
  onPodCidrs?: (cidrs: readonly string[], signal: AbortSignal) => Promise<void>;
  /** The volumes in use that were written to the API: with a controller that attaches, only these may be mounted. */
  onVolumesReported?: (volumes: readonly string[]) => void;
  /** Notified of the steps of node startup. */
  startup?: StartupSteps;
  /** A heartbeat failed more than once: connections may be dead. */
  onRepeatedFailure?: () => void;
}

const fastCheckMs = 100;
const fastForMs = 120_000;
/** After this, a runtime or API server that does not respond is reported. */
const settledWithinMs = 3_000;
const settledCheckMs = 25;

/** Registers the node and keeps its status in the API. The only writer of the node's status. */
export class NodeStatusManager implements Component {
  readonly name = "node-status";
  readonly done: Promise<void>;
  readonly #o: NodeStatusOptions;
  readonly #schedule: ReportSchedule;
  readonly #done = Promise.withResolvers<void>();
  readonly #firstRegistration = Promise.withResolvers<void>();
  #registered = false;
  #latest: NodeObject | undefined;
  #wasUnschedulable = false;
  #rebootRecorded = false;
  #podCidrs = "";
  #problems = "";
  /** The fields that the API server did not store when they were last written, because it is older and does not have them. */
  #dropped: ReturnType<typeof changedFields> = {};
  #droppedNames = "";
  readonly #wake = new WakeUp();
  #isMissing = false;

  constructor(options: NodeStatusOptions) {
    this.#o = options;
    this.#schedule = new ReportSchedule(options.clock, options.reportFrequencyMs, options.random);
    this.done = this.#done.promise;
    this.#registered = !options.registerNode;
    if (this.#registered) this.#firstRegistration.resolve();
  }

  /** Resolves immediately: pods run whether or not the API can be reached. */
  async start(signal: AbortSignal): Promise<void> {
    void Promise.all([this.#loop(signal), this.#watchForReady(signal)]).finally(this.#done.resolve);
  }

  /** Resolves when the node is registered, if this agent registers it. */
  async whenRegistered(signal: AbortSignal): Promise<void> {
    await orAbort(this.#firstRegistration.promise, signal);
  }

  /** The node of the last response. */
  get latest(): NodeObject | undefined {
    return this.#latest;
  }

  /** An input of the status has changed: update now instead of at the next tick. */
  wake(): void {
    this.#wake.notify();
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock, updateFrequencyMs, random } = this.#o;
    await this.#untilSettled(signal);
    while (!signal.aborted) {
      this.#wake.reset();
      const ok = await this.#round(signal);
      const waitMs = ok ? jittered(updateFrequencyMs, random) : Math.min(updateFrequencyMs, longestRetryMs);
      // After a failure, wake-ups are ignored: they would send more requests to a failing API server.
      if (ok) await this.#wake.wait(clock, waitMs, signal);
      else await sleep(clock, waitMs, signal).catch(() => {});
    }
  }

  async #untilSettled(signal: AbortSignal): Promise<void> {
    const { clock, isSettled } = this.#o;
    // Attempts are counted: the clock may be set during boot.
    for (let waitedMs = 0; waitedMs < settledWithinMs; waitedMs += settledCheckMs) {
      if (signal.aborted || isSettled?.() !== false) return;
      await sleep(clock, settledCheckMs, signal).catch(() => {});
    }
  }

  /** Reports a starting node as ready as soon as its runtime and network are ready, without a wait for the next tick. */
  async #watchForReady(signal: AbortSignal): Promise<void> {
    const { clock, logger, notReady } = this.#o;
    const until = msFromNow(clock, fastForMs);
    while (!signal.aborted && !isReady(this.#latest?.status.conditions)) {
      if (clock.monotonic() >= until) {
        logger.error("Node not becoming ready in time after startup");
        return;
      }
      if (this.#registered && this.#latest && notReady().length === 0) return this.wake();
      await sleep(clock, fastCheckMs, signal).catch(() => {});
    }
  }

  /** True if the API is up to date. Never rejects. */
  async #round(signal: AbortSignal): Promise<boolean> {
    const { logger, clock } = this.#o;
    try {
      if (!this.#registered) {
        const onError = (error: unknown, retryMs: number) =>
          failureLog(
            logger,
            "error",
            error,
          )("Unable to register node, will retry", {
            err: messageOf(error),
            retryMs,
          });
        await retryUntilDone(() => this.#register(signal), { clock, signal, onError });
        this.#registered = true;
        this.#firstRegistration.resolve();
      }
      for (let attempt = 0; attempt < attempts; attempt++) {
        try {
          await this.#update(attempt, signal);
          return true;
        } catch (error) {
          signal.throwIfAborted();
          if (httpStatusOf(error) === 404) {
            this.#missing();
            return false;
          }
          if (attempt > 0) this.#o.onRepeatedFailure?.();
          failureLog(
            logger,
            "error",
            error,
          )("Error updating node status, will retry", {
            err: messageOf(error),
            attempt: attempt + 1,
          });
        }
      }
    } catch (error) {
      if (!signal.aborted) logger.error("Failed to sync node status", { err: messageOf(error) });
    }
    return false;
  }

  /** Logs once that the node was deleted. Only an administrator deletes a node, so it is not registered again without their consent. */
  #missing(): void {
    const { logger, settings, registerNode } = this.#o;
    if (this.#isMissing) return;
    this.#isMissing = true;
    const what = registerNode
      ? "Node object was deleted, restart the kubelet to register the node again"
      : "Node object does not exist, create it: this kubelet does not register its node (registerNode)";
    logger.error(what, { node: settings.name });
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { api, settings, logger, clock, getOnExistsOnly, startup } = this.#o;
    const plan = planStatus(initialNode(settings), await this.#o.info(signal), clock.wall());
    this.#record(plan);
    this.#logProblems(plan.problems);
    logger.info("Attempting to register node", { node: settings.name });
    startup?.attempting();
    try {
      const created = await api.create(plan.node, signal);
      logger.info("Successfully registered node", { node: settings.name });
      startup?.registered();
      this.#schedule.reported(true);
      this.#accept(created);
    } catch (error) {
      const status = httpStatusOf(error);
      // A node that is not allowed to create its object may find an existing one.
      if (status !== 409 && (status !== 403 || getOnExistsOnly)) throw error;
      await this.#adopt(plan, signal);
    }
  }

  async #adopt(plan: StatusPlan, signal: AbortSignal): Promise<void> {
    const { api, devices, logger } = this.#o;
    const existing = await api.get(signal);
    logger.info("Node was previously registered", { node: existing.metadata.name });
    const desired = reconcileNode(existing, plan.node, { resetExtended: devices.isNewNode() });
    const patch = nodePatch(existing, desired);
    this.#latest = patch ? await api.patchStatus(patch, signal) : existing;
  }

  async #update(attempt: number, signal: AbortSignal): Promise<void> {
    const { api, clock, settings } = this.#o;
    const original = await this.#original(attempt, signal);
    const cidrs = await this.#takePodCidrs(original, signal);
    const plan = planStatus(withSystemLabels(original, settings), await this.#o.info(signal), clock.wall());
    this.#record(plan);
    this.#logProblems(plan.problems);
    const relabeled = original.metadata.labels !== plan.node.metadata.labels;
    const fields = changedFields(original.status, plan.node.status);
    const isDropped = (name: string) => isDeepStrictEqual(fields[name], this.#dropped[name]);
    const changed = cidrs || relabeled || !Object.keys(fields).every(isDropped);
    const patch = nodePatch(original, plan.node);
    if (!patch || (!changed && !this.#schedule.isDue())) return this.#accept(original);
    const updated = await api.patchStatus(patch, signal);
    this.#schedule.reported(changed);
    this.#noteDropped(changedFields(updated.status, plan.node.status));
    this.#accept(updated);
  }

  /** A field that is not stored would differ at each tick: it is written again only with the next report. Logged once. */
  #noteDropped(fields: ReturnType<typeof changedFields>): void {
    this.#dropped = fields;
    const names = Object.keys(fields).join(",");
    if (names && names !== this.#droppedNames)
      this.#o.logger.info("API server does not store all fields of the node status", { fields: names });
    this.#droppedNames = names;
  }

  /** The first attempt uses the cached object, the others read it. */
  async #original(attempt: number, signal: AbortSignal): Promise<NodeObject> {
    const cached = attempt === 0 ? this.#o.view?.node() : undefined;
    if (cached) return this.#latest ? newer(cached, this.#latest) : cached;
    return this.#o.api.get(signal);
  }

  async #takePodCidrs(node: NodeObject, signal: AbortSignal): Promise<boolean> {
    const cidrs = node.spec.podCIDRs ?? [];
    const text = cidrs.join(",");
    if (text === "" || text === this.#podCidrs) return false;
    try {
      await this.#o.onPodCidrs?.(cidrs, signal);
    } catch (error) {
      // The update continues, and the CIDR is passed again next time.
      this.#o.logger.error("Failed to parse pod CIDR", { podCIDR: text, err: messageOf(error) });
      return false;
    }
    this.#podCidrs = text;
    return true;
  }

  /** Records events with each attempt, as the reference kubelet does: they report the state of a node whose object cannot be written. */
  #record({ node, events }: StatusPlan): void {
    const schedulable = schedulableEvent(node, this.#wasUnschedulable);
    this.#wasUnschedulable = node.spec.unschedulable ?? false;
    const due = [...events, ...(schedulable ? [schedulable] : [])].filter(
      ({ reason }) => reason !== "Rebooted" || !this.#rebootRecorded,
    );
    this.#rebootRecorded ||= due.some(({ reason }) => reason === "Rebooted");
    record(this.#o.events, due);
  }

  #accept(node: NodeObject): void {
    if (this.#isMissing) this.#o.logger.info("Node object exists again", { node: node.metadata.name });
    this.#isMissing = false;
    this.#latest = node;
    if (isReady(node.status.conditions)) this.#o.startup?.ready();
    this.#o.onVolumesReported?.(node.status.volumesInUse ?? []);
  }

  /** A persistent problem is logged once. */
  #logProblems(problems: readonly string[]): void {
    const text = problems.join("; ");
    if (text && text !== this.#problems) this.#o.logger.warn("Node status is incomplete", { problems: text });
    this.#problems = text;
  }
}

/** Returns the newer of two versions of the node. The watch may lag behind our own writes, but it is newer if the node was recreated with the same name. */
function newer(cached: NodeObject, written: NodeObject): NodeObject {
  if (cached.metadata.uid !== written.metadata.uid) return cached;
  const version = (node: NodeObject) => Number(node.metadata.resourceVersion ?? 0);
  return version(written) > version(cached) ? written : cached;
}
