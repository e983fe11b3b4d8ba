/** How far the runtime is with the image that a pod needs. Part of the output of `kubelet explain -o json` (docs/EXPLAIN.md). */
export interface PullProgress {
  readonly image: string;
  /** The host in the name of the image; a runtime may be configured to pull from a mirror instead. */
  readonly registry: string;
  readonly state: PullState;
  /** The time since the runtime was called or, before that, since the pod began to wait for the call. */
  readonly elapsedMs: number;
  /** Bytes of the compressed image. Those of layers that were present count as done. Null: not known. */
  readonly bytes: { readonly done: number; readonly total: number } | null;
  readonly layers: { readonly done: number; readonly total: number } | null;
  /** The average of the last seconds. */
  readonly bytesPerSecond: number | null;
  /** The time until all bytes are downloaded, at that rate. */
  readonly leftMs: number | null;
  /** The time since the last byte arrived, or since the runtime was called. Null: not known. */
  readonly idleMs: number | null;
  /** All traffic that the node receives, if the traffic of the pull is not known. */
  readonly networkBytesPerSecond: number | null;
}

/**
 * Waits for other pulls, or for the pull rate; the registry has not sent a byte yet; bytes arrive; none has arrived for a while; all are there and the runtime
 * unpacks them. "pulling" without `bytes` if the runtime does not report more.
 */
export type PullState = "queued" | "rate-limited" | "connecting" | "pulling" | "stalled" | "unpacking";

/** "pulling nginx:1.29, 43 % of 187 MB, 12 s left" */
export function pullText(pull: PullProgress): string {
  const { image, registry, state, bytes, elapsedMs, idleMs, leftMs, networkBytesPerSecond } = pull;
  const part = bytes && `${percent(bytes)} of ${sizeText(bytes.total)}`;
  switch (state) {
    case "queued":
      return `pulling image ${image}: waiting for other pulls`;
    case "rate-limited":
      return `pulling image ${image}: waiting for the pull rate (registryPullQPS)`;
    case "connecting":
      return `pulling ${image}, waiting for ${registry} for ${timeText(elapsedMs)}`;
    case "stalled":
      return `pulling ${image}, stalled: no byte from ${registry} for ${timeText(idleMs ?? 0)}${part ? `, ${part} done` : ""}`;
    case "unpacking":
      return `pulling ${image}, unpacking ${bytes ? sizeText(bytes.total) : "it"}`;
    case "pulling": {
      if (part)
        return [`pulling ${image}`, part, leftMs !== null && `${timeText(leftMs)} left`]
          .filter(Boolean)
          .join(", ");
      const network =
        networkBytesPerSecond !== null && `the node receives ${sizeText(networkBytesPerSecond)}/s`;
      return [`pulling ${image} for ${timeText(elapsedMs)}`, network].filter(Boolean).join(", ");
    }
    default:
      return state satisfies never;
  }
}

/** A second line, if more is known: "81 MB and 3 of 7 layers are there, from docker.io at 9.8 MB/s, for 8 s". */
export function pullDetail({
  registry,
  layers,
  bytesPerSecond,
  elapsedMs,
  bytes,
}: PullProgress): string | undefined {
  if (!layers || !bytes) return undefined;
  const rate = bytesPerSecond === null ? "" : ` at ${sizeText(bytesPerSecond)}/s`;
  return `${sizeText(bytes.done)} and ${layers.done} of ${layers.total} layers are there, from ${registry}${rate}, for ${timeText(elapsedMs)}`;
}

/** 100 % means that nothing is missing. */
function percent({ done, total }: { done: number; total: number }): string {
  return `${total === 0 ? 100 : Math.floor((done / total) * 100)} %`;
}

/** 950 kB, 9.8 MB, 187 MB, 2.1 GB: decimal units, two digits at least. */
export function sizeText(bytes: number): string {
  const [divisor, unit] = bytes < 1e6 ? [1e3, "kB"] : bytes < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  const value = bytes / divisor;
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** 0 s, 12 s, 3m12s, 1h05m */
function timeText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m${String(seconds % 60).padStart(2, "0")}s`;
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, "0")}m`;
}
