import { abortable } from "../../../lib/base/abort.ts";
import { type Clock, msFromNow, msUntil } from "../../../lib/base/clock.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import { Listeners } from "../../../lib/base/listeners.ts";
import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";

/** The part of the Node object with the attached volumes. */
export interface NodeAttachments {
  readonly status: {
    readonly volumesAttached?: readonly { readonly name: string; readonly devicePath?: string }[];
  };
}

export interface AttachedVolumesOptions {
  /** The last observed Node object. */
  readonly observed: () => NodeAttachments | undefined;
  /** The current attachments, from the API server. */
  readonly get: (signal: AbortSignal) => Promise<NodeAttachments>;
  readonly clock: Clock;
  /** A volume was attached: mounts that failed because of it can be retried immediately. */
  readonly onAttached: () => void;
}

/** After this `verify` fails with the reason, and the mount is retried with back-off. */
const waitMs = 10_000;
const notReported = "Volume has not been added to the list of VolumesInUse in the node's volume status";
const notAttached = "Volume not attached according to node status";

const requestTimeoutMs = 10_000;

/** Requests the Node object. */
export function attachmentsOf(
  api: Pick<KubeTransport, "request">,
  nodeName: string,
): AttachedVolumesOptions["get"] {
  const path = `/api/v1/nodes/${encodeURIComponent(nodeName)}`;
  return (signal) => api.request({ method: "GET", path, signal, timeoutMs: requestTimeoutMs });
}

/**
 * Verifies the volumes that the attach/detach controller attaches. The controller does not detach volumes that the node reports in use,
 * so a volume is mounted only after it was reported, and only if it is still attached then: otherwise it could be detached under a pod.
 */
export class AttachedVolumes {
  readonly #o: AttachedVolumesOptions;
  readonly #waiting = new Listeners();
  #reported: ReadonlySet<string> = new Set();
  #attached: ReadonlySet<string> = new Set();

  constructor(options: AttachedVolumesOptions) {
    this.#o = options;
  }

  /** The API server has accepted these as in use. */
  reported(names: readonly string[]): void {
    this.#reported = new Set(names);
    this.changed();
  }

  /** The Node object has changed. */
  changed(): void {
    const names = new Set(this.#o.observed()?.status.volumesAttached?.map(({ name }) => name));
    const isNew = [...names].some((name) => !this.#attached.has(name));
    this.#attached = names;
    if (isNew) this.#o.onAttached();
    this.#waiting.notify();
  }

  /** Resolves with the path of its device, which may be empty, when the volume can be used; throws the reason after a timeout. `timed` runs each request that verifies it. */
  async verify(
    unique: string,
    signal: AbortSignal,
    timed: <T>(request: () => Promise<T>) => Promise<T> = (request) => request(),
  ): Promise<string> {
    const { clock, observed, get } = this.#o;
    const deadline = msFromNow(clock, waitMs);
    for (;;) {
      let missing = this.#missing(unique, observed());
      // The observed object may be outdated.
      if (missing === undefined) {
        const attached = attachmentOf(unique, await timed(() => get(signal)));
        if (attached) return attached.devicePath ?? "";
        missing = notAttached;
      }
      if (clock.monotonic() >= deadline) throw new KubeletError("VolumeAttachment", missing);
      await this.#nextChange(msUntil(clock, deadline), signal);
    }
  }

  #missing(unique: string, node: NodeAttachments | undefined): string | undefined {
    if (!this.#reported.has(unique)) return notReported;
    return node && attachmentOf(unique, node) ? undefined : notAttached;
  }

  #nextChange(withinMs: number, signal: AbortSignal): Promise<void> {
    return abortable(signal, (resolve) => {
      const remove = this.#waiting.add(resolve);
      const cancel = this.#o.clock.after(withinMs, resolve);
      return () => {
        cancel();
        remove();
      };
    });
  }
}

function attachmentOf(unique: string, { status }: NodeAttachments): { devicePath?: string } | undefined {
  return status.volumesAttached?.find(({ name }) => name === unique);
}
