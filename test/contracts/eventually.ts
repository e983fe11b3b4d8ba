/** Asks until there is an answer, and fails when there is none in time. */
export async function eventually<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  withinMs = 20_000,
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) throw new Error(`nothing happened within ${withinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
