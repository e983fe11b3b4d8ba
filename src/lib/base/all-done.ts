/** Waits for all, even if one fails: nothing is left that runs in the background. Then throws the first failure. */
export async function allDone(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}
