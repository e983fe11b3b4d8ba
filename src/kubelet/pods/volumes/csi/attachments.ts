import { type Clock, sleep } from "../../../../lib/base/clock.ts";
import { httpStatusOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { KubeTransport } from "../../../../lib/clients/kube/transport-interface.ts";
import type { CsiDrivers } from "./csi-drivers.ts";
import { attachmentName } from "./names.ts";
import type { PersistentCsiSource, StringMap } from "./source.ts";

/** gRPC's ResourceExhausted, in the error of a VolumeAttachment. */
const resourceExhausted = 8;
const requestTimeoutMs = 10_000;
/** A node may not watch VolumeAttachments, only get its own. After these delays the wait fails, and is retried with back-off. */
const pollDelaysMs = [100, 200, 400, 800, 1500, 2000, 2500, 2500];

interface VolumeAttachment {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status?: {
    readonly attached?: boolean;
    readonly attachmentMetadata?: StringMap;
    readonly attachError?: { readonly message?: string; readonly errorCode?: number };
  };
}

export interface AttachmentsOptions {
  readonly transport: Pick<KubeTransport, "request"> | undefined;
  readonly nodeName: string;
  readonly objects: CsiDrivers;
  readonly clock: Clock;
  /** The attacher reports that the node's volume limit of the driver is reached. */
  readonly onExhausted?: (driver: string) => void;
}

type Volume = Pick<PersistentCsiSource, "driver" | "handle">;

/** The VolumeAttachments of this node, which the cluster's attacher handles. */
export class Attachments {
  readonly #o: AttachmentsOptions;

  constructor(options: AttachmentsOptions) {
    this.#o = options;
  }

  nameOf({ driver, handle }: Volume): string {
    return attachmentName(handle, driver, this.#o.nodeName);
  }

  /** Resolves when the volume is attached; throws the reason after a few seconds. */
  async wait(volume: Volume, signal: AbortSignal, verified?: () => Promise<unknown>): Promise<void> {
    if (!(await this.#isNeeded(volume.driver, signal))) return;
    await verified?.().catch((error: unknown) => this.#throwAttachError(volume, error, signal));
    for (const pauseMs of pollDelaysMs) {
      const { attachment } = await this.#find(volume, signal);
      if (attachment && this.#isAttached(attachment, volume)) return;
      await sleep(this.#o.clock, pauseMs, signal);
    }
    const { attachment, error } = await this.#find(volume, signal);
    if (attachment && this.#isAttached(attachment, volume)) return;
    const id = this.nameOf(volume);
    throw attachment
      ? failure(`volume ${volume.handle} is not attached for volume attachment ${id}`)
      : failure(
          `volume ${volume.handle} has GET error for volume attachment ${id}: ${messageOf(error)}`,
          error,
        );
  }

  /** The attacher's error is more specific than the node status. */
  async #throwAttachError(volume: Volume, error: unknown, signal: AbortSignal): Promise<never> {
    signal.throwIfAborted();
    const { attachment } = await this.#find(volume, signal).catch(() => ({ attachment: undefined }));
    if (attachment) this.#isAttached(attachment, volume);
    throw error;
  }

  /** True if the attacher reports that the node's volume limit is reached, for a driver whose count may change. */
  async isExhausted(volume: Volume, signal: AbortSignal): Promise<boolean> {
    if (!this.#o.objects.known(volume.driver)?.nodeAllocatableUpdatePeriodSeconds) return false;
    const { attachment } = await this.#find(volume, signal).catch(() => ({ attachment: undefined }));
    return attachment?.status?.attachError?.errorCode === resourceExhausted;
  }

  /** The attacher's metadata for the driver. */
  async publishContext(volume: Volume, signal: AbortSignal): Promise<StringMap> {
    if (!(await this.#isNeeded(volume.driver, signal))) return {};
    const { attachment, error } = await this.#find(volume, signal);
    if (!attachment) throw error;
    return attachment.status?.attachmentMetadata ?? {};
  }

  async #isNeeded(driver: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#o.objects.get(driver, signal))?.attachRequired !== false;
  }

  async #find(
    volume: Volume,
    signal: AbortSignal,
  ): Promise<{ attachment: VolumeAttachment | undefined; error?: unknown }> {
    const { transport } = this.#o;
    const id = this.nameOf(volume);
    if (!transport) throw failure(`volume attachment ${id} cannot be read without an API server`);
    const path = `/apis/storage.k8s.io/v1/volumeattachments/${id}`;
    try {
      const call = { method: "GET", path, signal, timeoutMs: requestTimeoutMs } as const;
      return { attachment: await transport.request<VolumeAttachment>(call) };
    } catch (error) {
      if (httpStatusOf(error) === 404) return { attachment: undefined, error };
      signal.throwIfAborted();
      throw failure(
        `volume ${volume.handle} has GET error for volume attachment ${id}: ${messageOf(error)}`,
        error,
      );
    }
  }

  #isAttached({ metadata, status }: VolumeAttachment, { driver }: Volume): boolean {
    if (metadata.deletionTimestamp) throw failure("volume attachment is being deleted");
    if (status?.attached) return true;
    const error = status?.attachError;
    if (!error) return false;
    if (
      error.errorCode === resourceExhausted &&
      this.#o.objects.known(driver)?.nodeAllocatableUpdatePeriodSeconds
    )
      this.#o.onExhausted?.(driver);
    throw failure(error.message ?? "");
  }
}

function failure(message: string, cause?: unknown): KubeletError {
  return new KubeletError("VolumeAttachment", message, { cause });
}
