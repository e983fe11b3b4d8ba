import type { Clock } from "../../../lib/base/clock.ts";
import { epochMs } from "../../../lib/base/time.ts";
import type { Taint } from "../../../lib/gen/kubernetes/core.d.ts";
import type { Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import type { EventRecorder } from "../event-recorder.ts";
import type { ObjectCache } from "../object-cache.ts";
import { refTo } from "../object-ref.ts";
import {
  deadline,
  type GracePeriods,
  type NodeState,
  plannedTaints,
  unknownConditions,
} from "./node-lifecycle-plan.ts";

export interface NodeLifecycleOptions {
  readonly objects: Objects;
  readonly cache: ObjectCache;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly gracePeriods: GracePeriods;
}

/** Marks nodes that stopped reporting as Unknown, and sets the taints of their conditions. */
export class NodeLifecycle {
  readonly #options: NodeLifecycleOptions;
  readonly #health = new Map<string, NodeHealth>();

  constructor(options: NodeLifecycleOptions) {
    this.#options = options;
  }

  /** Returns the milliseconds until the next node may become Unknown. */
  async reconcile(): Promise<number | undefined> {
    const { cache, clock } = this.#options;
    const nodes = cache.all("nodes");
    const known = new Set(nodes.map(({ metadata }) => metadata.uid));
    for (const uid of this.#health.keys()) if (!known.has(uid)) this.#health.delete(uid);
    const deadlines: number[] = [];
    for (const node of nodes) deadlines.push(await this.#check(node));
    const remaining = deadlines.map((at) => at - epochMs(clock.wall())).filter((ms) => ms > 0);
    return remaining.length === 0 ? undefined : Math.min(...remaining);
  }

  async #check(node: ApiObject): Promise<number> {
    const { cache, clock, gracePeriods } = this.#options;
    const now = epochMs(clock.wall());
    const { name, uid } = node.metadata;
    const lease = cache.get({
      resource: "leases.coordination.k8s.io",
      namespace: "kube-node-lease",
      name,
    });
    let current = node;
    const signs = {
      heartbeat: stateOf(node).conditions.find(({ type }) => type === "Ready")?.lastHeartbeatTime,
      renewed: lease?.spec?.renewTime,
    };
    const health = observed(this.#health.get(uid), signs, now);
    this.#health.set(uid, health);
    const end = deadline(stateOf(node), health.at, gracePeriods);
    if (now >= end) current = (await this.#markUnknown(node, now)) ?? node;
    await this.#taint(current, now);
    return end;
  }

  async #markUnknown(node: ApiObject, now: number): Promise<ApiObject | undefined> {
    const { objects, cache, recorder } = this.#options;
    if (unknownConditions(stateOf(node), now) === undefined) return undefined;
    const changed = await objects.change(
      refTo("nodes", node),
      (draft) => {
        const conditions = unknownConditions(stateOf(draft), now);
        if (conditions !== undefined) draft.status = { ...draft.status, conditions };
      },
      { subresource: "status", uid: node.metadata.uid },
    );
    cache.record("nodes", changed);
    await recorder.record({
      about: { apiVersion: "v1", kind: "Node", object: node },
      type: "Normal",
      reason: "NodeNotReady",
      action: "Monitoring",
      message: `Node ${node.metadata.name} status is now: NodeNotReady`,
    });
    return changed;
  }

  async #taint(node: ApiObject, now: number): Promise<void> {
    const { objects, cache } = this.#options;
    if (plannedTaints(stateOf(node), now) === stateOf(node).taints) return;
    const changed = await objects.change(
      refTo("nodes", node),
      (draft) => {
        const taints = plannedTaints(stateOf(draft), now);
        if (taints.length > 0) draft.spec = { ...draft.spec, taints };
        else delete draft.spec?.taints;
      },
      { uid: node.metadata.uid },
    );
    cache.record("nodes", changed);
  }
}

const none: readonly Taint[] = [];

function stateOf(node: ApiObject): NodeState {
  const { metadata, spec, status } = node;
  return {
    created: metadata.creationTimestamp,
    unschedulable: spec?.unschedulable === true,
    conditions: status?.conditions ?? [],
    taints: spec?.taints ?? none,
  };
}

/** When a node last reported. Times are by the clock of this machine: the node's clock may differ. */
interface NodeHealth {
  /** The last observed heartbeats. */
  readonly heartbeat: string | undefined;
  readonly renewed: string | undefined;
  readonly at: number;
}

interface Heartbeats {
  /** lastHeartbeatTime of the Ready condition. */
  readonly heartbeat: string | undefined;
  /** renewTime of the lease. */
  readonly renewed: string | undefined;
}

/** A node that is observed for the first time is healthy as of now; after that, as of each new heartbeat. */
export function observed(old: NodeHealth | undefined, heartbeats: Heartbeats, now: number): NodeHealth {
  const { heartbeat, renewed } = heartbeats;
  if (old !== undefined && old.heartbeat === heartbeat && !isLater(renewed, old.renewed)) return old;
  return { heartbeat, renewed, at: now };
}

function isLater(time: string | undefined, than: string | undefined): boolean {
  return time !== undefined && (than === undefined || Date.parse(time) > Date.parse(than));
}
