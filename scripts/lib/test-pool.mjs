import { availableParallelism, cpus } from "node:os";

/** `min` jobs always run at a time, up to `max` while processors are idle. */
export function poolLimits(cores = availableParallelism()) {
  const min = Math.min(Math.max(2, cores), 8);
  return { min, max: 4 * min };
}

/** One more job is started while at least this share of the processors is idle. */
const enoughIdle = 0.15;

export function mayStart(running, { min, max }, free) {
  return running < min || (running < max && free >= enoughIdle);
}

const everyMs = 1000;

/**
 * Starts all jobs in order; one with `after` waits for that promise, and others start before it. Most test files wait for a node most of the
 * time, so more of them than processors run at a time while processors are idle. On a busy machine only `min` of them do.
 */
export async function runPool(
  jobs,
  run,
  { limits = poolLimits(), free = freeShare(), tick = everySecond } = {},
) {
  const waiting = [...jobs];
  const notReady = new Set(jobs.filter(({ after }) => after));
  let running = 0;
  const done = Promise.withResolvers();
  const start = (share) => {
    if (waiting.length === 0 && running === 0) done.resolve();
    const next = waiting.findIndex((job) => !notReady.has(job));
    if (next < 0 || !mayStart(running, limits, share)) return false;
    running++;
    run(...waiting.splice(next, 1))
      .catch(done.reject)
      .finally(() => {
        running--;
        fill();
      });
    return true;
  };
  // The load of a job that has just started is not measured yet: above `min`, one job is started for each measurement.
  const fill = () => {
    while (start(0));
  };
  fill();
  for (const job of notReady)
    job.after.then(() => {
      notReady.delete(job);
      fill();
    });
  const stop = tick(() => start(free()));
  try {
    await done.promise;
  } finally {
    stop();
  }
}

function everySecond(work) {
  const timer = setInterval(work, everyMs);
  return () => clearInterval(timer);
}

/** The idle share of all processors since the last call. */
export function freeShare(read = processorTimes) {
  let last = read();
  return () => {
    const now = read();
    const [free, total] = [now.free - last.free, now.total - last.total];
    last = now;
    return total > 0 ? free / total : 0;
  };
}

/** Processes with a low priority count as busy: many of them together still slow down tests. */
export function processorTimes(all = cpus()) {
  let [free, total] = [0, 0];
  for (const { times } of all) {
    free += times.idle;
    total += times.user + times.nice + times.sys + times.idle + times.irq;
  }
  return { free, total };
}
