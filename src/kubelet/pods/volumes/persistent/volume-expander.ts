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

/** A failed expansion of a volume on this node. */
export class ExpansionError extends KubeletError {
  /** in-use: not possible while the volume is in use. infeasible: not to this size. uncertain: may still be in progress. */
  readonly kind: "not-supported" | "in-use" | "infeasible" | "uncertain" | "failed";
  constructor(kind: ExpansionError["kind"], message: string, options?: { cause?: unknown }) {
    super("VolumeExpansion", message, options);
    this.kind = kind;
  }
}

export interface ExpanderOptions {
  readonly api: VolumeApi;
  readonly events: PodEvents;
  readonly claimEvents: ClaimEvents;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Records events about PVCs, next to those about the pod. */
interface ClaimEvents {
  normal(claim: Pick<Claim, "metadata">, reason: string, message: string): void;
  warning(claim: Pick<Claim, "metadata">, reason: string, message: string): void;
}

type Expand = (size: string, signal: AbortSignal) => Promise<void>;

/** The node's part of volume expansion: checks the claim, expands the volume, and updates the claim's status. */
export class VolumeExpander {
  readonly #o: ExpanderOptions;
  /** Volumes that cannot be expanded while in use: not retried until the agent restarts. */
  readonly #offlineOnly = new Set<string>();
  /** Volumes whose last expansion has failed. */
  readonly #failed = new Set<string>();
  /** The size of each volume on this node, if it was in use since the agent started. */
  readonly #sizes = new Map<string, string>();

  constructor(options: ExpanderOptions) {
    this.#o = options;
  }

  /** True if the last observed objects require an expansion; they may be outdated. */
  mayBeNeeded({ persistent, readOnly }: VolumeSpec): boolean {
    const size = persistent?.spec.capacity?.storage;
    if (!persistent || readOnly || size === undefined || persistent.claimCapacity === undefined) return false;
    if (this.#offlineOnly.has(persistent.volumeName)) return false;
    const nodeSize = this.#sizes.get(persistent.volumeName) ?? size;
    return compareQuantities(persistent.claimCapacity, size) < 0 || compareQuantities(nodeSize, size) < 0;
  }

  /** The volume is in use on this node with this size. */
  markInUse({ persistent }: VolumeSpec): void {
    const size = persistent?.spec.capacity?.storage;
    if (persistent && size !== undefined && !this.#sizes.has(persistent.volumeName))
      this.#sizes.set(persistent.volumeName, size);
  }

  resetSize(volumeName: string): void {
    this.#sizes.delete(volumeName);
  }

  /** Throws if the expansion fails. */
  async expandIfNeeded(pod: Pod, spec: VolumeSpec, expand: Expand, signal: AbortSignal): Promise<void> {
    const { persistent } = spec;
    if (!persistent || this.#offlineOnly.has(persistent.volumeName)) return;
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
    const nodeSize = this.#sizes.get(persistent.volumeName);
    if (plan.isReported && nodeSize !== undefined && compareQuantities(nodeSize, plan.size) >= 0) return;
    if (spec.readOnly) {
      const message = this.#eventMessage(
        spec,
        "MountVolume.NodeExpandVolume failed",
        "requested read-only file system",
      );
      this.#o.events.warning(pod, "FileSystemResizeFailed", message);
      this.#o.claimEvents.warning(claim, "FileSystemResizeFailed", message);
      return;
    }
    await this.#expand(pod, spec, claim, plan, expand, signal);
  }

  async #expand(
    pod: Pod,
    spec: VolumeSpec,
    claim: Claim,
    plan: Extract<ExpansionPlan, { kind: "expand" }>,
    expand: Expand,
    signal: AbortSignal,
  ): Promise<void> {
    const { size, recovers, isReported } = plan;
    const volumeName = spec.persistent?.volumeName ?? "";
    let current = claim;
    if (recovers && !isReported) current = await this.#patch(claim, markInProgress(claim), signal);
    try {
      await expand(size, signal);
    } catch (error) {
      signal.throwIfAborted();
      const kind = error instanceof ExpansionError ? error.kind : "failed";
      if (kind === "not-supported" && (isReported || !recovers)) {
        this.#sizes.set(volumeName, size);
        return;
      }
      if (recovers && kind !== "uncertain")
        await this.#recordFailure(current, volumeName, size, error, signal);
      if (kind !== "in-use") throw error instanceof ExpansionError ? error : failure(messageOf(error), error);
      this.#offlineOnly.add(volumeName);
      this.#o.logger.warn("Failed to expand volume in use", {
        volume: volumeName,
        err: messageOf(error),
      });
      return;
    }
    this.#failed.delete(volumeName);
    this.#sizes.set(volumeName, size);
    const node = pod.spec.nodeName ?? "";
    const message = this.#eventMessage(spec, "MountVolume.NodeExpandVolume succeeded", node);
    this.#o.events.normal(pod, "FileSystemResizeSuccessful", message);
    this.#o.claimEvents.normal(current, "FileSystemResizeSuccessful", message);
    if (!isReported) await this.#patch(current, markFinished(current, size), signal);
  }

  async #recordFailure(
    claim: Claim,
    volume: string,
    size: string,
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    // The requested size has changed, and this one keeps failing: the resizer has to start over.
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

  #eventMessage(spec: VolumeSpec, what: string, detail: string): string {
    return `${what} for volume "${spec.persistent?.volumeName ?? spec.name}" ${detail}`;
  }
}

function failure(message: string, cause?: unknown): ExpansionError {
  return new ExpansionError("failed", message, { cause });
}
