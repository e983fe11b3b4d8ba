/** Waits for all, even if one fails: nothing is left that runs in the background. Then throws the first failure. */
export async function allDone<const T extends readonly unknown[]>(
  work: {
    readonly [K in keyof T]: Promise<T[K]>;
  },
): Promise<T> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
  return (await Promise.all(work)) as T;
}
