/** A fixed amount of work of the kind that parsers do. Times are compared with its time, so that the machine does not matter. */
export function calibrate(): number {
  const text = JSON.stringify(
    Array.from({ length: 2000 }, (_, i) => ({ name: `n${i}`, value: [i, String(i)] })),
  );
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 20; i++) {
    const before = cpuMs();
    for (const part of text.split(",")) JSON.stringify(part.replace(/[a-z]/g, "x"));
    JSON.parse(text);
    best = Math.min(best, cpuMs() - before);
  }
  return Math.max(best, 0.1);
}

/** The CPU time of this thread: other processes and garbage collection on other threads do not count. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
