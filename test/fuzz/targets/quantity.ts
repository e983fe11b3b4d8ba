import assert from "node:assert/strict";
import { formatCpuSet, parseCpuSet } from "../../../src/lib/model/cpu-set.ts";
import { compareQuantities, parseQuantity, wholeUnits } from "../../../src/lib/model/quantity.ts";
import { canonicalQuantity, roundedToMilli } from "../../../src/lib/model/quantity-form.ts";
import { accepted } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

/** Quantities, and lists of CPUs. */
export default {
  seeds: [
    "100m",
    "64Mi",
    "1.5e3",
    "-0.5",
    "+1E",
    ".5k",
    "1e-9",
    "9223372036854775807",
    "12n",
    "0-3,8",
    "1.Ki",
    "5e+40",
  ],
  maxLength: 80,
  run(input) {
    const text = input.toString("latin1");
    const nano = parseQuantity(text);
    if (nano !== undefined) {
      const largest = ((1n << 63n) - 1n) * 10n ** 9n;
      assert.ok(nano <= largest && nano >= -largest);
      const canonical = canonicalQuantity(text) ?? assert.fail("no canonical form");
      // Bytes that are no multiple of 1,024 have no suffix, and are decimal when they are read again.
      if (!text.endsWith("i")) assert.equal(canonicalQuantity(canonical), canonical, text);
      // The canonical form of bytes is rounded up to whole bytes.
      if (!text.endsWith("i")) assert.equal(parseQuantity(canonical), nano, canonical);
      assert.ok(compareQuantities(canonical, text) * (nano < 0n ? -1 : 1) >= 0);
      const approximate = Number(text.replace(/[a-zA-Z]+$/, ""));
      if (/^[+-]?\d{1,15}$/.test(text)) assert.equal(wholeUnits(text), BigInt(approximate));
      if (!text.endsWith("i")) assert.equal(roundedToMilli(roundedToMilli(text)), roundedToMilli(text));
    }
    const cpus = accepted(() => parseCpuSet(text));
    if (cpus)
      assert.deepEqual(
        [...parseCpuSet(formatCpuSet(cpus))],
        [...cpus].sort((a, b) => a - b),
      );
  },
} satisfies FuzzTarget;
