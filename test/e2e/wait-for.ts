import { timeoutFactor } from "../timeout-factor.ts";

/** Repeats the check until it passes; after `withinMs`, multiplied on a busy machine, it throws the last failure. */
export async function waitFor<T>(check: () => Promise<T> | T, withinMs = 60_000): Promise<T> {
  const deadline = Date.now() + withinMs * timeoutFactor;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
