import assert from "node:assert/strict";
import { test } from "node:test";
import { ratioSampler } from "./sampler.ts";
import { formatTraceparent, parseTraceparent } from "./trace-context.ts";
import { WallClock } from "./tracer.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

for (const [header, sampled] of [
  [`00-${traceId}-${spanId}-01`, true],
  [`00-${traceId}-${spanId}-00`, false],
  [`00-${traceId}-${spanId}-03`, true],
  [`cc-${traceId}-${spanId}-01`, true],
  [`cc-${traceId}-${spanId}-01-what-is-newer`, true],
] as const)
  test(`traceparent ${header} is accepted`, () =>
    assert.deepEqual(parseTraceparent(header), { traceId, spanId, sampled }));

for (const header of [
  undefined,
  "",
  "x",
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01-more`,
  `ff-${traceId}-${spanId}-01`,
  `00-${"0".repeat(32)}-${spanId}-01`,
  `00-${traceId}-${"0".repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId.slice(1)}-${spanId}-01`,
  `00-${traceId}-${spanId}-1`,
  ` 00-${traceId}-${spanId}-01`,
])
  test(`traceparent ${header} is rejected`, () => assert.equal(parseTraceparent(header), undefined));

test("a formatted traceparent is parsed back", () => {
  for (const sampled of [true, false])
    assert.deepEqual(parseTraceparent(formatTraceparent({ traceId, spanId, sampled })), {
      traceId,
      spanId,
      sampled,
    });
});

test("the rate is a share of all traces, by the second half of their id", () => {
  const id = (share: number) =>
    `${"f".repeat(16)}${BigInt(Math.floor(share * 2 ** 64))
      .toString(16)
      .padStart(16, "0")}`;
  assert.equal(ratioSampler(0)(id(0)), false);
  assert.equal(ratioSampler(1_000_000)("f".repeat(32)), true);
  assert.equal(ratioSampler(250_000)(id(0.2499)), true);
  assert.equal(ratioSampler(250_000)(id(0.2501)), false);
  const ids = Array.from({ length: 4000 }, (_, i) => id((i * 0.6180339887) % 1));
  const kept = ids.filter(ratioSampler(100_000)).length;
  assert.ok(Math.abs(kept - 400) < 20, `${kept} of 4000`);
});

test("the time is finer than the clock's, follows it when it is set, and otherwise never goes back", () => {
  let [wall, monotonic] = [1000, 0];
  const clock = new WallClock(
    () => Math.floor(wall),
    () => monotonic,
  );
  const pass = (ms: number) => {
    wall += ms;
    monotonic += ms;
  };
  pass(0.25);
  assert.equal(clock.now(), 1000.25);
  pass(0.5);
  assert.equal(clock.now(), 1000.75);
  wall += 3_600_000;
  assert.equal(clock.now(), 3_601_000);
  pass(0.25);
  assert.equal(clock.now(), 3_601_000.25);
});
