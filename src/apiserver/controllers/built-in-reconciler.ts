import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import { httpStatusOf, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { runPeriodically } from "../../lib/base/run-periodically.ts";
import type { Objects } from "../definition.ts";
import type { BuiltIn } from "../kinds/built-ins.ts";
import { same } from "../kinds/same.ts";

export interface BuiltInReconcilerOptions {
  readonly builtIns: readonly BuiltIn[];
  readonly objects: Objects;
  readonly clock: Clock;
  readonly logger: Logger;
}

const everyMs = 60_000;

/** Creates the objects that every cluster has. */
export class BuiltInReconciler implements Component {
  readonly name = "built-in-objects";
  readonly #options: BuiltInReconcilerOptions;
  readonly #done = Promise.withResolvers<void>();

  constructor(options: BuiltInReconcilerOptions) {
    this.#options = options;
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** Resolves when all of them exist. */
  async start(signal: AbortSignal): Promise<void> {
    const { builtIns, objects, clock, logger } = this.#options;
    const keep = () => reconcileBuiltIns(builtIns, objects);
    try {
      await keep();
    } catch (error) {
      this.#done.resolve();
      throw error;
    }
    const onError = (error: unknown) =>
      logger.warn("Failed to reconcile built-in objects", { err: messageOf(error) });
    void runPeriodically(keep, { clock, everyMs, signal, onError }).then(() => this.#done.resolve());
  }
}

/** Creates what is missing, and corrects the objects that describe the API. */
export async function reconcileBuiltIns(builtIns: readonly BuiltIn[], objects: Objects): Promise<void> {
  for (const { ref, draft, reconciledFields: kept, isOutdated } of builtIns) {
    const there = await objects.get(ref);
    const outdated = there !== undefined && isOutdated?.(there) === true;
    if (outdated) await objects.delete(ref);
    const found = outdated ? undefined : there;
    if (found === undefined) await createIfMissing(objects, ref.resource, draft);
    else if (kept.some((field) => !same(found[field], draft[field])))
      await objects.change(ref, (changed) => {
        for (const field of kept) changed[field] = structuredClone(draft[field]);
      });
  }
}

async function createIfMissing(objects: Objects, resource: string, draft: BuiltIn["draft"]): Promise<void> {
  try {
    await objects.create(resource, draft);
  } catch (error) {
    if (httpStatusOf(error) !== 409) throw error;
  }
}
