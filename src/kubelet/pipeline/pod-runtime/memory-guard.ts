/** A memory limit that shrinks, and how much memory is in use below it; undefined if that is unknown. */
export interface ShrinkingLimit {
  /** Undefined for the pod. */
  readonly container?: string;
  readonly limit: bigint;
  readonly usage: bigint | undefined;
}

/** Why memory limits cannot shrink now: the kernel would kill processes, or reject the limit. */
export function memoryInUse(limits: readonly ShrinkingLimit[]): string | undefined {
  const problems = limits.flatMap(({ container, limit, usage }) => {
    const what = container === undefined ? "pod" : `container "${container}"`;
    if (usage === undefined) return `missing ${what} memory usage`;
    if (usage < limit) return [];
    return `attempting to set ${what} memory limit (${limit}) below current usage (${usage})`;
  });
  if (problems.length === 0) return undefined;
  const text = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
  return `cannot decrease memory limits: ${text}`;
}

/** The limit that a container or pod gets is below the current one. 0: no limit. */
export function isShrinking(limit: bigint, current: bigint | undefined): boolean {
  return limit > 0n && (current === undefined || current <= 0n || limit < current);
}
