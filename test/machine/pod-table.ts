/** The UID of the pod in a row. It has dashes, which separate the parts of a slice's name. */
export function tableUid(index: number): string {
  return `${String(index).padStart(8, "0")}-0000-4000-8000-000000000000`;
}

/** systemd has CPU quotas in whole percents: the reference rounds up. */
export function inPercents<T extends { cpuQuota?: number; cpuPeriod?: number }>(limits: T): T {
  const { cpuQuota = 0, cpuPeriod = 100_000 } = limits;
  if (cpuQuota <= 0) return limits;
  return { ...limits, cpuQuota: (Math.ceil((cpuQuota * 100) / cpuPeriod) * cpuPeriod) / 100 };
}
