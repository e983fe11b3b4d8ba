/** Polls until there is a result, and fails when there is none in time. */
export async function eventually<T>(
  poll: () => T | undefined | Promise<T | undefined>,
  withinMs = 20_000,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await poll();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) throw new Error(`nothing happened within ${withinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
