import assert from "node:assert/strict";
import { it } from "node:test";
import { CpuRates } from "./cpu-rates.ts";

const second = 1e9;

it("the first sample is the average since the start", () => {
  assert.equal(new CpuRates().rate("a", 10_000, 5 * second, 0), 0.5e9);
});

it("the next is the difference to the one before", () => {
  const rates = new CpuRates();
  rates.rate("a", 10_000, 5 * second, 0);
  assert.equal(rates.rate("a", 20_000, 15 * second, 0), 1e9);
  assert.equal(rates.rate("a", 30_000, 15 * second, 0), 0);
});

it("those who ask often do not make the time between samples short", () => {
  const rates = new CpuRates();
  rates.rate("a", 10_000, 0, 0);
  assert.equal(rates.rate("a", 13_000, 3 * second, 0), 1e9);
  // One millisecond later, with the jitter of a counter: still measured from 10 s on.
  assert.equal(rates.rate("a", 13_001, 3 * second, 0), Math.round((3 / 3.001) * 1e9));
  assert.equal(rates.rate("a", 13_999, 3 * second, 0), Math.round((3 / 3.999) * 1e9));
  assert.equal(rates.rate("a", 14_000, 3.5 * second, 0), 0.5e9);
});

it("a counter that begins anew, or a clock that is set back, begins anew", () => {
  const rates = new CpuRates();
  rates.rate("a", 10_000, 50 * second, 0);
  assert.equal(rates.rate("a", 20_000, second, 18_000), 0.5e9);
  assert.equal(rates.rate("a", 19_000, second, 18_000), 1e9);
  assert.equal(rates.rate("b", 5000, second, 5000), 0);
});

it("what nobody asks for is forgotten", () => {
  const rates = new CpuRates();
  rates.rate("a", 10_000, 0, 0);
  rates.prune(20 * 60_000);
  assert.equal(rates.rate("a", 20 * 60_000, 600 * second, 0), 0.5e9);
});
