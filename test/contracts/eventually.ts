import { timeoutFactor } from "../timeout-factor.ts";

/** Polls until there is a result, and fails when there is none in time. */
export async function eventually<T>(
  poll: () => T | undefined | Promise<T | undefined>,
  withinMs = 20_000,
): Promise<T> {
  const deadline = Date.now() + withinMs * timeoutFactor;
  for (;;) {
    const result = await poll();
    if (result !== undefined) return result;
    if (Date.now() > deadline)
      throw new Error(`condition not met within ${(withinMs * timeoutFactor) / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
