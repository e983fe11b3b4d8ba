/** Whether a new trace is kept. Whoever takes part in one that exists follows what was decided at its beginning. */
export type Sampler = (traceId: string) => boolean;

/** By the trace's id alone, so that all who are asked about the same trace with the same rate agree. */
export function ratioSampler(perMillion: number): Sampler {
  if (perMillion <= 0) return () => false;
  if (perMillion >= 1_000_000) return () => true;
  const below = (BigInt(perMillion) << 63n) / 1_000_000n;
  return (traceId) => BigInt(`0x${traceId.slice(16)}`) >> 1n < below;
}
