import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeletError } from "../../base/errors.ts";
import { KubeApiError, TransportError } from "./api-error.ts";
import { failureOf, type Next, nextStep, type Outcome, type Step, watchQuery } from "./reflector-plan.ts";

const apiError = (status: number, more: Partial<KubeApiError> = {}) =>
  new KubeApiError({ status, reason: "", message: "", ...more });
const gone = apiError(410);
const down = new TransportError("connection refused");
const malformed = new KubeletError("MalformedWatch", "no event");

const failures: [string, unknown, ReturnType<typeof failureOf>][] = [
  ["410", gone, "expired"],
  ["reason Expired", apiError(400, { reason: "Expired" }), "expired"],
  [
    "resource version too large, as a cause",
    apiError(504, { details: { causes: [{ reason: "ResourceVersionTooLarge" }] } }),
    "expired",
  ],
  [
    "resource version too large, in the message",
    apiError(504, { message: "Too large resource version: 9, current: 3" }),
    "expired",
  ],
  ["a timeout", apiError(504), "unavailable"],
  ["400", apiError(400), "rejected"],
  ["404", apiError(404), "rejected"],
  ["422", apiError(422), "rejected"],
  ["401", apiError(401), "unavailable"],
  ["403", apiError(403), "unavailable"],
  ["429", apiError(429), "unavailable"],
  ["500", apiError(500), "unavailable"],
  ["no response", down, "unavailable"],
  ["a malformed event", malformed, "rejected"],
];

for (const [what, error, failure] of failures)
  test(`${what}: ${failure}`, () => assert.equal(failureOf(error), failure));

const list = (from: string): Step => ({ do: "list", from });
const stream = (from: string): Step => ({ do: "stream-list", from });
const watch = (from: string): Step => ({ do: "watch", from });
const failed = (error: unknown): Outcome => ({ kind: "failed", error });
const watched = (useful: boolean, error?: unknown): Outcome => ({
  kind: "watched",
  resourceVersion: "9",
  useful,
  error,
});
const immediately = (step: Step): Next => ({ step, backOff: false, resetBackOff: false });
const later = (step: Step): Next => ({ step, backOff: true, resetBackOff: false });
const works = (next: Next): Next => ({ ...next, resetBackOff: true });
const notStreamed = (step: Step): Next => ({ ...immediately(step), disableStreaming: true });

const plans: [string, Step, Outcome, Next][] = [
  [
    "a list is followed by a watch from its version",
    list("0"),
    { kind: "listed", resourceVersion: "9" },
    immediately(watch("9")),
  ],
  ["a stale list: list at the latest version", list("9"), { kind: "stale" }, immediately(list(""))],
  ["a failed list is retried with back-off", list("0"), failed(down), later(list("0"))],
  [
    "a version that is gone: list at the latest one immediately",
    list("9"),
    failed(gone),
    immediately(list("")),
  ],
  ["the latest version is gone too: retry with back-off", list(""), failed(gone), later(list(""))],
  ["a rejected list is retried with back-off", list("9"), failed(apiError(404)), later(list("9"))],
  ["a failed watch is retried with back-off, without a list", watch("9"), failed(down), later(watch("9"))],
  ["a forbidden watch is retried with back-off", watch("9"), failed(apiError(403)), later(watch("9"))],
  ["a version too old to watch from: list, not older than that", watch("7"), failed(gone), later(list("7"))],
  ["a rejected watch: list", watch("7"), failed(apiError(400)), later(list("7"))],
  [
    "a watch that the server ends resumes immediately",
    watch("7"),
    watched(true),
    works(immediately(watch("9"))),
  ],
  [
    "a disconnected watch resumes immediately",
    watch("7"),
    watched(true, down),
    works(immediately(watch("9"))),
  ],
  [
    "a watch that ends as soon as it starts resumes with back-off",
    watch("7"),
    watched(false),
    later(watch("9")),
  ],
  ["an expired watch: list", watch("7"), watched(true, gone), works(later(list("9")))],
  [
    "a watch that expires immediately: list, with increasing back-off",
    watch("7"),
    watched(false, gone),
    later(list("9")),
  ],
  [
    "a malformed event: list, because the watch would return it again",
    watch("7"),
    watched(true, malformed),
    works(later(list("9"))),
  ],
  ["a rejected streamed list: list", stream(""), failed(apiError(422)), notStreamed(list("0"))],
  ["a streamed list that does not end: list", stream("7"), { kind: "not-streamed" }, notStreamed(list("7"))],
  ["no version to stream from: stream the latest", stream("7"), failed(gone), immediately(stream(""))],
  ["a failed streamed list is retried with back-off", stream("7"), failed(down), later(stream("7"))],
  [
    "the watch after a streamed list expires: list",
    stream("7"),
    watched(true, gone),
    works(later(list("9"))),
  ],
];

for (const [rule, step, outcome, next] of plans)
  test(rule, () => assert.deepEqual(nextStep(step, outcome), next));

test("a watch requests bookmarks; one that starts with a list also all objects", () => {
  const query = { watch: true, allowWatchBookmarks: true };
  assert.deepEqual(watchQuery({ do: "watch", from: "9" }), { ...query, resourceVersion: "9" });
  assert.deepEqual(watchQuery({ do: "stream-list", from: "" }), {
    ...query,
    resourceVersion: undefined,
    sendInitialEvents: true,
    resourceVersionMatch: "NotOlderThan",
  });
});
