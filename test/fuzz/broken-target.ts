import { calibrate, cpuMs } from "./measure.ts";
import type { FuzzTarget } from "./target.ts";

/** A target that breaks each rule of the fuzzer, so that tests can check that the fuzzer notices. */
export default {
  seeds: [],
  dictionary: [],
  run(input) {
    const text = input.toString("latin1");
    switch (text) {
      case "throw":
        throw new TypeError("unexpected");
      case "pollute":
        Object.defineProperty(Object.prototype, "polluted", { value: true, configurable: true });
        return;
      case "slow":
        for (const started = cpuMs(), needed = 1000 * calibrate(); cpuMs() - started < needed; );
        return;
      case "hang":
        for (;;);
      case "fill":
        for (const kept: string[][] = []; ; )
          kept.push(Array.from({ length: 1000 }, (_, i) => `${i}${kept.length}`));
      case "reject":
        return Promise.reject(new Error("rejected later"));
    }
  },
} satisfies FuzzTarget;
