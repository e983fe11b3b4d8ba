/** Whether a new trace is kept. A participant in an existing trace follows the decision of its root. */
export type Sampler = (traceId: string) => boolean;

/** Decides by the trace ID alone, so that all participants with the same rate agree. */
export function ratioSampler(perMillion: number): Sampler {
  if (perMillion <= 0) return () => false;
  if (perMillion >= 1_000_000) return () => true;
  const below = (BigInt(perMillion) << 63n) / 1_000_000n;
  return (traceId) => BigInt(`0x${traceId.slice(16)}`) >> 1n < below;
}
