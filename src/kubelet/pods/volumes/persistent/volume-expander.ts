import type { Clock } from "../../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { Pod } from "../../../../lib/model/pod.ts";
import type { PodEvents } from "../../../../lib/model/pod-events.ts";
import { compareQuantities } from "../../../../lib/model/quantity.ts";
import type { VolumeSpec } from "../volume-plugin.ts";
import { markFailed, markFinished, markInProgress } from "./claim-status.ts";
import { type ExpansionPlan, planExpansion } from "./expansion-plan.ts";
import type { Claim, VolumeApi } from "./volume-api.ts";

/** How growing a volume on this node failed. */
export class ExpansionError extends KubeletError {
  /** in-use: not while the volume is in use. infeasible: not to this size. uncertain: perhaps it still goes on. */
  readonly kind: "not-supported" | "in-use" | "infeasible" | "uncertain" | "failed";
  constructor(kind: ExpansionError["kind"], message: string, options?: { cause?: unknown }) {
    super("VolumeExpansion", message, options);
    this.kind = kind;
  }
}

export interface ExpanderOptions {
  readonly api: VolumeApi;
  readonly events: PodEvents;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Grow = (size: string, signal: AbortSignal) => Promise<void>;

/** The node's part of growing a volume: asks the claim whether it is wanted, has it done, and tells the claim how it went. */
export class VolumeExpander {
  readonly #o: ExpanderOptions;
  /** Volumes that cannot grow while they are in use: not asked again as long as the agent runs. */
  readonly #notInUse = new Set<string>();
  /** Volumes whose growing has failed for good at their last size. */
  readonly #failed = new Set<string>();
  /** The size that each volume has on this node, as far as it has been in use since the agent began. */
  readonly #sizes = new Map<string, string>();

  constructor(options: ExpanderOptions) {
    this.#o = options;
  }

  /** True if the objects that were last seen ask for it; the answer may be old. */
  mayBeNeeded({ persistent, readOnly }: VolumeSpec): boolean {
    const size = persistent?.spec.capacity?.storage;
    if (!persistent || readOnly || size === undefined || persistent.claimCapacity === undefined) return false;
    if (this.#notInUse.has(persistent.volumeName)) return false;
    const here = this.#sizes.get(persistent.volumeName) ?? size;
    return compareQuantities(persistent.claimCapacity, size) < 0 || compareQuantities(here, size) < 0;
  }

  /** The volume is in use here now: from this size on its growing is followed. */
  markInUse({ persistent }: VolumeSpec): void {
    const size = persistent?.spec.capacity?.storage;
    if (persistent && size !== undefined && !this.#sizes.has(persistent.volumeName))
      this.#sizes.set(persistent.volumeName, size);
  }

  resetSize(volumeName: string): void {
    this.#sizes.delete(volumeName);
  }

  /** Throws if the volume should have grown and could not. */
  async expandIfNeeded(pod: Pod, spec: VolumeSpec, grow: Grow, signal: AbortSignal): Promise<void> {
    const { persistent } = spec;
    if (!persistent || this.#notInUse.has(persistent.volumeName)) return;
    const { namespace, name } = persistent.claim;
    let claim: Claim;
    try {
      claim = await this.#o.api.claim(namespace, name, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw failure(`mountVolume.NodeExpandVolume get PVC failed : ${messageOf(error)}`, error);
    }
    const plan = planExpansion(claim, persistent.spec.capacity?.storage);
    if (plan.kind === "none") return;
    const here = this.#sizes.get(persistent.volumeName);
    if (plan.isTold && here !== undefined && compareQuantities(here, plan.size) >= 0) return;
    if (spec.readOnly) {
      const message = this.#told(
        spec,
        "MountVolume.NodeExpandVolume failed",
        "requested read-only file system",
      );
      this.#o.events.warning(pod, "FileSystemResizeFailed", message);
      return;
    }
    await this.#expand(pod, spec, claim, plan, grow, signal);
  }

  async #expand(
    pod: Pod,
    spec: VolumeSpec,
    claim: Claim,
    plan: Extract<ExpansionPlan, { kind: "expand" }>,
    grow: Grow,
    signal: AbortSignal,
  ): Promise<void> {
    const { size, recovers, isTold } = plan;
    const volumeName = spec.persistent?.volumeName ?? "";
    let current = claim;
    if (recovers && !isTold) current = await this.#patch(claim, markInProgress(claim), signal);
    try {
      await grow(size, signal);
    } catch (error) {
      signal.throwIfAborted();
      const kind = error instanceof ExpansionError ? error.kind : "failed";
      if (kind === "not-supported" && (isTold || !recovers)) {
        this.#sizes.set(volumeName, size);
        return;
      }
      if (recovers && kind !== "uncertain") await this.#tellFailure(current, volumeName, size, error, signal);
      if (kind !== "in-use") throw error;
      this.#notInUse.add(volumeName);
      this.#o.logger.warn("Failed to expand volume in use", {
        volume: volumeName,
        err: messageOf(error),
      });
      return;
    }
    this.#failed.delete(volumeName);
    this.#sizes.set(volumeName, size);
    const node = pod.spec.nodeName ?? "";
    const message = this.#told(spec, "MountVolume.NodeExpandVolume succeeded", node);
    this.#o.events.normal(pod, "FileSystemResizeSuccessful", message);
    if (!isTold) await this.#patch(current, markFinished(current, size), signal);
  }

  async #tellFailure(
    claim: Claim,
    volume: string,
    size: string,
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    // Somebody wants another size by now, and this one fails for good: the resizer has to begin anew.
    const isOutdated = claim.spec.resources?.requests?.storage !== size && this.#failed.has(volume);
    const infeasible = isOutdated || (error instanceof ExpansionError && error.kind === "infeasible");
    this.#failed.add(volume);
    const { namespace, name } = claim.metadata;
    const patch = markFailed(claim, messageOf(error), infeasible, this.#o.clock.wall());
    try {
      await this.#o.api.patchClaimStatus(namespace, name, patch, signal);
    } catch (reason) {
      this.#o.logger.warn("Failed to record volume expansion failure on PVC", {
        claim: `${namespace}/${name}`,
        err: messageOf(reason),
      });
    }
  }

  async #patch(claim: Claim, patch: object, signal: AbortSignal): Promise<Claim> {
    const { namespace, name } = claim.metadata;
    try {
      return await this.#o.api.patchClaimStatus(namespace, name, patch, signal);
    } catch (error) {
      signal.throwIfAborted();
      const why = `patchPVCStatus failed to patch PVC "${name}": ${messageOf(error)}`;
      throw failure(`mountVolume.NodeExpandVolume update PVC status failed : ${why}`, error);
    }
  }

  #told(spec: VolumeSpec, what: string, detail: string): string {
    return `${what} for volume "${spec.persistent?.volumeName ?? spec.name}" ${detail}`;
  }
}

function failure(message: string, cause?: unknown): ExpansionError {
  return new ExpansionError("failed", message, { cause });
}
