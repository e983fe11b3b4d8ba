import assert from "node:assert/strict";
import { test } from "node:test";
import { maxRepeated, secondAttempts } from "./second-attempt.mjs";

const failed = (...jobs) => jobs.map((job) => ({ job, result: { job, attempt: 1, problem: "failed" } }));

test("a job that passes the second time is flaky, one that fails again keeps its first failure", async () => {
  const ran = [];
  const run = async (job) => {
    ran.push(job);
    return { job, attempt: 2, problem: job === "broken" ? "failed again" : undefined };
  };
  const { results, flaky } = await secondAttempts(failed("flaky", "broken"), run);
  assert.deepEqual(ran, ["flaky", "broken"]);
  assert.deepEqual(
    results.map(({ job, attempt, problem }) => [job, attempt, problem]),
    [
      ["flaky", 2, undefined],
      ["broken", 1, "failed"],
    ],
  );
  assert.deepEqual(
    flaky.map(({ job }) => job),
    ["flaky"],
  );
});

test("many failed jobs are not run again", async () => {
  const jobs = failed(...Array.from({ length: maxRepeated + 1 }, (_, index) => `job ${index}`));
  const { results, flaky } = await secondAttempts(jobs, () => assert.fail("runs again"));
  assert.deepEqual(
    results.map(({ problem }) => problem),
    jobs.map(() => "failed"),
  );
  assert.deepEqual(flaky, []);
});
