import assert from "node:assert/strict";
import { it } from "node:test";
import { wallTime } from "../../lib/base/time.ts";
import { CpuRates } from "./cpu-rates.ts";

const second = 1e9;

it("the first sample is the average since the start", () => {
  assert.equal(new CpuRates().rate("a", wallTime(10_000), 5 * second, wallTime(0)), 0.5e9);
});

it("the next is the rate since the previous one", () => {
  const rates = new CpuRates();
  rates.rate("a", wallTime(10_000), 5 * second, wallTime(0));
  assert.equal(rates.rate("a", wallTime(20_000), 15 * second, wallTime(0)), 1e9);
  assert.equal(rates.rate("a", wallTime(30_000), 15 * second, wallTime(0)), 0);
});

it("frequent requests do not shorten the time between samples", () => {
  const rates = new CpuRates();
  rates.rate("a", wallTime(10_000), 0, wallTime(0));
  assert.equal(rates.rate("a", wallTime(13_000), 3 * second, wallTime(0)), 1e9);
  // One millisecond later, with the jitter of a counter: still measured from 10 s on.
  assert.equal(rates.rate("a", wallTime(13_001), 3 * second, wallTime(0)), Math.round((3 / 3.001) * 1e9));
  assert.equal(rates.rate("a", wallTime(13_999), 3 * second, wallTime(0)), Math.round((3 / 3.999) * 1e9));
  assert.equal(rates.rate("a", wallTime(14_000), 3.5 * second, wallTime(0)), 0.5e9);
});

it("a counter that was reset, or a clock that is set back, starts again", () => {
  const rates = new CpuRates();
  rates.rate("a", wallTime(10_000), 50 * second, wallTime(0));
  assert.equal(rates.rate("a", wallTime(20_000), second, wallTime(18_000)), 0.5e9);
  assert.equal(rates.rate("a", wallTime(19_000), second, wallTime(18_000)), 1e9);
  assert.equal(rates.rate("b", wallTime(5000), second, wallTime(5000)), 0);
});

it("unrequested entries are dropped", () => {
  const rates = new CpuRates();
  rates.rate("a", wallTime(10_000), 0, wallTime(0));
  rates.prune(wallTime(20 * 60_000));
  assert.equal(rates.rate("a", wallTime(20 * 60_000), 600 * second, wallTime(0)), 0.5e9);
});
