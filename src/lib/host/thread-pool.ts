/**
 * All file calls of the process, and the system calls of `libc.ts`, are made by a pool of threads. Node.js has four of them, and a call
 * on a dead filesystem blocks one forever.
 */
const poolSize = 8;
const maxThreads = 1024;

/** Must be called before the first file call: the pool is created then, from the environment. */
export function widenThreadPool(env: NodeJS.ProcessEnv = process.env): void {
  env.UV_THREADPOOL_SIZE ??= String(poolSize);
}

/** How many threads there are. */
export function poolThreads(env: NodeJS.ProcessEnv = process.env): number {
  const size = Number.parseInt(env.UV_THREADPOOL_SIZE ?? "4", 10);
  return Number.isNaN(size) ? 1 : Math.min(Math.max(size, 1), maxThreads);
}
