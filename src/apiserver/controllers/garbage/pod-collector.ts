import type { Clock } from "../../../lib/base/clock.ts";
import { httpStatusOf } from "../../../lib/base/errors.ts";
import { epochMs } from "../../../lib/base/time.ts";
import type { Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { timestamp } from "../api-times.ts";
import type { ObjectCache } from "../object-cache.ts";
import { refTo } from "../object-ref.ts";

export interface PodCollectorOptions {
  readonly objects: Objects;
  readonly cache: ObjectCache;
  readonly clock: Clock;
}

/** A node may be registered again shortly after it was deleted. */
const quarantineMs = 40_000;

/** Deletes the pods of deleted nodes, which no kubelet will ever terminate. */
export class PodCollector {
  readonly #options: PodCollectorOptions;
  /** When each node with pods was first found missing. */
  readonly #missing = new Map<string, number>();

  constructor(options: PodCollectorOptions) {
    this.#options = options;
  }

  async reconcile(): Promise<number | undefined> {
    const { cache, clock, objects } = this.#options;
    const now = epochMs(clock.wall());
    const nodes = new Set(cache.all("nodes").map(({ metadata }) => metadata.name));
    const pods = cache.all("pods");
    const orphaned = new Set(pods.map(nodeOf).filter((name) => name !== "" && !nodes.has(name)));
    for (const name of this.#missing.keys()) if (!orphaned.has(name)) this.#missing.delete(name);
    for (const name of orphaned) if (!this.#missing.has(name)) this.#missing.set(name, now);
    for (const [name, since] of this.#missing) {
      if (now - since < quarantineMs) continue;
      if ((await objects.get({ resource: "nodes", namespace: "", name })) !== undefined) continue;
      for (const pod of pods) if (nodeOf(pod) === name) await this.#remove(pod);
    }
    const waits = [...this.#missing.values()]
      .map((since) => since + quarantineMs - now)
      .filter((ms) => ms > 0);
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  async #remove(pod: ApiObject): Promise<void> {
    const { objects, clock } = this.#options;
    const ref = refTo("pods", pod);
    const { uid } = pod.metadata;
    try {
      const phase = pod.status?.phase;
      if (phase !== "Succeeded" && phase !== "Failed")
        await objects.change(
          ref,
          (draft) => {
            const others = (draft.status?.conditions ?? []).filter(
              ({ type }: { type: string }) => type !== "DisruptionTarget",
            );
            const condition = {
              type: "DisruptionTarget",
              status: "True",
              reason: "DeletionByPodGC",
              message: "PodGC: node no longer exists",
              lastTransitionTime: timestamp(epochMs(clock.wall())),
            };
            draft.status = { ...draft.status, phase: "Failed", conditions: [...others, condition] };
          },
          { subresource: "status", uid },
        );
      await objects.delete(ref, { uid, gracePeriodSeconds: 0 });
    } catch (error) {
      if (![404, 409].includes(httpStatusOf(error) ?? 0)) throw error;
    }
  }
}

function nodeOf(pod: ApiObject): string {
  return pod.spec?.nodeName ?? "";
}
