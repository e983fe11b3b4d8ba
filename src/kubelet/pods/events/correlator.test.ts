import assert from "node:assert/strict";
import { test } from "node:test";
import { monotonicTime } from "../../../lib/base/fake-clock.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { EventCorrelator } from "./correlator.ts";
import { type EventType, makeEvent, podReference } from "./event-object.ts";

const pod = fakePod();
const startMs = Date.UTC(2026, 0, 1);

function setUp() {
  const correlator = new EventCorrelator();
  let now = BigInt(startMs) * 1_000_000n;
  const wait = (seconds: number) => {
    now += BigInt(seconds) * 1_000_000_000n;
  };
  const add = (reason: string, message: string, container?: string, type: EventType = "Normal") => {
    now += 1n;
    const involvedObject = podReference(pod, container);
    return correlator.add(
      makeEvent({ involvedObject, type, reason, message, nodeName: "n", at: now }),
      now,
      monotonicTime(Number(now / 1_000_000n)),
    )?.event;
  };
  return { add, wait };
}

test("a repeated event keeps name and first timestamp, and is counted", () => {
  const { add, wait } = setUp();
  const first = add("Pulled", "m", "c0");
  wait(60);
  const second = add("Pulled", "m", "c0");
  assert.equal(second?.metadata.name, first?.metadata.name);
  assert.deepEqual(
    [second?.count, second?.firstTimestamp, second?.lastTimestamp],
    [2, "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"],
  );
});

const others: [string, string, string, string?, EventType?][] = [
  ["message", "Pulled", "other", "c0"],
  ["reason", "Created", "m", "c0"],
  ["container", "Pulled", "m", undefined],
  ["type", "Pulled", "m", "c0", "Warning"],
];
for (const [what, reason, message, container, type] of others)
  test(`an event with another ${what} is not counted as the same event`, () => {
    const { add } = setUp();
    const first = add("Pulled", "m", "c0");
    const second = add(reason, message, container, type);
    assert.notEqual(second?.metadata.name, first?.metadata.name);
    assert.equal(second?.count, 1);
  });

test("similar events are combined into one event from the tenth different message on", () => {
  const { add, wait } = setUp();
  for (let i = 1; i < 10; i++) {
    assert.equal(add("Unhealthy", `m${i}`)?.message, `m${i}`);
    wait(590);
  }
  const tenth = add("Unhealthy", "m10");
  const eleventh = add("Unhealthy", "m11");
  assert.deepEqual([tenth?.message, tenth?.count], ["(combined from similar events): m10", 1]);
  assert.deepEqual([eleventh?.message, eleventh?.count], ["(combined from similar events): m11", 2]);
  assert.equal(eleventh?.metadata.name, tenth?.metadata.name);
  wait(601);
  assert.equal(add("Unhealthy", "m12")?.message, "m12", "after more than 10 minutes it starts again");
});

test("a burst of 25 events of a type about one object passes, then one every 5 minutes", () => {
  const { add, wait } = setUp();
  const sent = (n: number, type?: EventType) =>
    Array.from({ length: n }, () => add("BackOff", "m", "c0", type)).filter(Boolean).length;
  assert.equal(sent(40), 25);
  assert.equal(sent(1, "Warning"), 1, "another type has its own budget");
  wait(299);
  assert.equal(sent(1), 0);
  wait(1);
  assert.equal(sent(2), 1);
  wait(3000);
  assert.equal(add("BackOff", "m", "c0")?.count, 44, "dropped events are counted");
});

test("long messages that differ only at their end are different events", () => {
  const { add } = setUp();
  const [first, second, again] = ["a", "b", "a"].map((end) => add("Failed", "x".repeat(20_000) + end));
  assert.notEqual(first?.metadata.name, second?.metadata.name);
  assert.equal(first?.metadata.name, again?.metadata.name);
  assert.deepEqual([first?.count, second?.count, again?.count], [1, 1, 2]);
});
