import type { FuzzTarget } from "./target.ts";

/** Leaves work for the next turn of the event loop, as streams do. */
export default {
  seeds: ["a"],
  run(input) {
    const held = Array.from({ length: 200 }, () => input.length);
    process.nextTick(() => held.length);
  },
} satisfies FuzzTarget;
