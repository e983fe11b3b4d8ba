import { type Clock, msFromNow, msUntil } from "../../../lib/base/clock.ts";
import { abortError, KubeletError } from "../../../lib/base/errors.ts";

/** The node object in the API, as far as it matters here. */
export interface NodeAttachments {
  readonly status: { readonly volumesAttached?: readonly { readonly name: string }[] };
}

export interface AttachedVolumesOptions {
  /** The node as it was last seen in the API. */
  readonly seen: () => NodeAttachments | undefined;
  /** The same, asked for. */
  readonly get: (signal: AbortSignal) => Promise<NodeAttachments>;
  readonly clock: Clock;
  /** Something was attached: what has failed for want of it need not wait for its next try. */
  readonly onAttached: () => void;
}

/** After this the reason is told, and the volume is tried again with back-off. */
const waitMs = 10_000;
const notReported = "Volume has not been added to the list of VolumesInUse in the node's volume status";
const notAttached = "Volume not attached according to node status";

/**
 * What the cluster's controller says of volumes that it attaches. It never detaches what the node says to be in use, so a volume is
 * used only after that was said, and only if it is attached after that: any other order could take it away under a pod.
 */
export class AttachedVolumes {
  readonly #o: AttachedVolumesOptions;
  readonly #waiting = new Set<() => void>();
  #reported: ReadonlySet<string> = new Set();
  #attached: ReadonlySet<string> = new Set();

  constructor(options: AttachedVolumesOptions) {
    this.#o = options;
  }

  /** The API knows that these are in use. */
  reported(names: readonly string[]): void {
    this.#reported = new Set(names);
    this.changed();
  }

  /** The node in the API is another than before. */
  changed(): void {
    const names = new Set(this.#o.seen()?.status.volumesAttached?.map(({ name }) => name));
    const isNew = [...names].some((name) => !this.#attached.has(name));
    this.#attached = names;
    if (isNew) this.#o.onAttached();
    for (const look of [...this.#waiting]) look();
  }

  /** Resolves when the volume can be used; throws why not if it cannot soon. */
  async verify(unique: string, signal: AbortSignal): Promise<void> {
    const { clock, seen, get } = this.#o;
    const deadline = msFromNow(clock, waitMs);
    for (;;) {
      let missing = this.#missing(unique, seen());
      // What was seen may be old.
      if (missing === undefined) missing = isAttached(unique, await get(signal)) ? undefined : notAttached;
      if (missing === undefined) return;
      if (clock.monotonic() >= deadline) throw new KubeletError("VolumeAttachment", missing);
      await this.#change(msUntil(clock, deadline), signal);
    }
  }

  #missing(unique: string, node: NodeAttachments | undefined): string | undefined {
    if (!this.#reported.has(unique)) return notReported;
    return node && isAttached(unique, node) ? undefined : notAttached;
  }

  #change(withinMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (how: () => void) => () => {
        cancel();
        this.#waiting.delete(look);
        signal.removeEventListener("abort", stop);
        how();
      };
      const look = end(resolve);
      const stop = end(() => reject(abortError(signal.reason)));
      const cancel = this.#o.clock.after(withinMs, look);
      if (signal.aborted) return stop();
      this.#waiting.add(look);
      signal.addEventListener("abort", stop, { once: true });
    });
  }
}

function isAttached(unique: string, { status }: NodeAttachments): boolean {
  return status.volumesAttached?.some(({ name }) => name === unique) ?? false;
}
