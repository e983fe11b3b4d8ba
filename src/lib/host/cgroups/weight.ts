/** cpu.shares (2 to 262144) as cpu.weight (1 to 10000), by linear interpolation. */
export function sharesToWeight(shares: bigint): bigint {
  if (shares <= 2n) return 1n;
  return shares >= 262_144n ? 10_000n : 1n + ((shares - 2n) * 9_999n) / 262_142n;
}

export function weightToShares(weight: bigint): bigint {
  return ((weight - 1n) * 262_142n) / 9_999n + 2n;
}
