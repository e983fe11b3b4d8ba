import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeletError } from "../../base/errors.ts";
import { KubeApiError, TransportError } from "./api-error.ts";
import { failureOf, type Next, nextStep, type Outcome, type Step, watchQuery } from "./list-watch-plan.ts";

const answer = (status: number, more: Partial<KubeApiError> = {}) =>
  new KubeApiError({ status, reason: "", message: "", ...more });
const gone = answer(410);
const down = new TransportError("connection refused");
const garbled = new KubeletError("WatchGarbled", "no event");

const failures: [string, unknown, ReturnType<typeof failureOf>][] = [
  ["410", gone, "expired"],
  ["reason Expired", answer(400, { reason: "Expired" }), "expired"],
  [
    "too large, as a cause",
    answer(504, { details: { causes: [{ reason: "ResourceVersionTooLarge" }] } }),
    "expired",
  ],
  ["too large, as text", answer(504, { message: "Too large resource version: 9, current: 3" }), "expired"],
  ["a timeout", answer(504), "unavailable"],
  ["400", answer(400), "refused"],
  ["404", answer(404), "refused"],
  ["422", answer(422), "refused"],
  ["401", answer(401), "unavailable"],
  ["403", answer(403), "unavailable"],
  ["429", answer(429), "unavailable"],
  ["500", answer(500), "unavailable"],
  ["no response", down, "unavailable"],
  ["a spoiled line", garbled, "refused"],
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
const now = (step: Step): Next => ({ step, backOff: false, works: false });
const later = (step: Step): Next => ({ step, backOff: true, works: false });
const works = (next: Next): Next => ({ ...next, works: true });
const unstreamed = (step: Step): Next => ({ ...now(step), unstreamed: true });

const plans: [string, Step, Outcome, Next][] = [
  ["after a list, watch from there", list("0"), { kind: "listed", resourceVersion: "9" }, now(watch("9"))],
  ["a list of a server that lags behind: request the newest", list("9"), { kind: "stale" }, now(list(""))],
  ["no list: the same later", list("0"), failed(down), later(list("0"))],
  ["no such version to list from: the newest, at once", list("9"), failed(gone), now(list(""))],
  ["not even the newest: later", list(""), failed(gone), later(list(""))],
  ["a list that is refused is tried again later", list("9"), failed(answer(404)), later(list("9"))],
  ["no watch: the same later, without a list", watch("9"), failed(down), later(watch("9"))],
  ["a watch that may not be: the same later", watch("9"), failed(answer(403)), later(watch("9"))],
  ["too old to watch from: list, no older than that", watch("7"), failed(gone), later(list("7"))],
  ["a watch that is refused: list", watch("7"), failed(answer(400)), later(list("7"))],
  ["the server ends a watch: go on at once", watch("7"), watched(true), works(now(watch("9")))],
  ["a watch is cut: go on at once", watch("7"), watched(true, down), works(now(watch("9")))],
  ["a watch ends as soon as it begins: go on later", watch("7"), watched(false), later(watch("9"))],
  ["a watch expires: list", watch("7"), watched(true, gone), works(later(list("9")))],
  [
    "a watch expires at once: list, and wait longer each time",
    watch("7"),
    watched(false, gone),
    later(list("9")),
  ],
  [
    "a spoiled line: list, because the same would come again",
    watch("7"),
    watched(true, garbled),
    works(later(list("9"))),
  ],
  ["a streamed list is refused: list", stream(""), failed(answer(422)), unstreamed(list("0"))],
  ["a streamed list does not end: list", stream("7"), { kind: "not-streamed" }, unstreamed(list("7"))],
  ["no version to stream from: the newest", stream("7"), failed(gone), now(stream(""))],
  ["no streamed list: the same later", stream("7"), failed(down), later(stream("7"))],
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
