/** Resolves as soon as the assertions hold; throws the last failure when they do not in time. */
export async function holds<T>(check: () => Promise<T> | T, withinMs = 60_000): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
