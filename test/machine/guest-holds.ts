import type { GuestNode } from "./guest-node.ts";

const everyMs = 250;

/** Resolves as soon as the assertions hold. When they do not in time, throws the last failure with the log of the agent. */
export async function guestHolds<T>(
  node: GuestNode,
  check: () => Promise<T> | T,
  withinMs = 120_000,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline)
        throw new Error(`${error instanceof Error ? error.message : error}\n${await node.log()}`, {
          cause: error,
        });
    }
    // Each check costs the guest's only processor a few processes.
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
