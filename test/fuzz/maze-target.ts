import type { FuzzTarget } from "./target.ts";

/** A problem behind four nested conditions: only an input that meets one reaches the next. */
export default {
  seeds: ["12345678"],
  run(input) {
    if (input[0] !== 0x66) return;
    if (input[1] !== 0x75) return;
    if (input[2] !== 0x7a) return;
    if (input[3] === 0x7a) throw new Error("out of the maze");
  },
} satisfies FuzzTarget;
