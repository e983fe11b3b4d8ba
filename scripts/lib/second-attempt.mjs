/** More failed jobs than this are not a matter of chance: they are not run again. */
export const maxRepeated = 4;

/**
 * Runs the jobs that failed once more, one at a time. Returns the final result of each; `flaky` is the first result of those that passed
 * the second time.
 */
export async function secondAttempts(failed, run) {
  const flaky = [];
  const results = [];
  for (const { job, result } of failed) {
    const second = failed.length <= maxRepeated ? await run(job) : result;
    if (!second.problem) flaky.push(result);
    results.push(second.problem ? result : second);
  }
  return { results, flaky };
}
