import { calibrate, cpuMs } from "./measure.ts";
import type { FuzzTarget } from "./target.ts";

/** Breaks a rule that holds for all targets. */
export class RuleError extends Error {
  override readonly name = "RuleError";
}

/** An input that takes this many times as long as the calibration (about 3 ms) is too slow: inputs have a few kilobytes. */
const slowFactor = 300;
const builtIns = [Object, Array, Function, String, Number, Boolean, Map, Set, Promise, RegExp, Error, Buffer];

/** Runs a target, and checks the rules for all targets: a bound on the time, and no change to built-in objects. */
export function checkedRun(target: FuzzTarget): (input: Buffer) => void | Promise<void> {
  const limitMs = slowFactor * calibrate();
  const known = prototypes();
  const after = (input: Buffer, started: number): void | Promise<void> => {
    if (prototypes() !== known) throw new RuleError("a built-in prototype was changed");
    if (cpuMs() - started > limitMs) return slow(input);
  };
  /** The first call may have compiled code or collected garbage. */
  const slow = async (input: Buffer): Promise<void> => {
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 3; i++) {
      const started = cpuMs();
      await target.run(input);
      best = Math.min(best, cpuMs() - started);
    }
    if (best > limitMs)
      throw new RuleError(
        `too slow: ${Math.round(best / calibrate())} times the calibration, at most ${slowFactor}`,
      );
  };
  return (input) => {
    const started = cpuMs();
    const done = target.run(input);
    if (done) return done.then(() => after(input, started));
    return after(input, started);
  };
}

function prototypes(): number {
  let keys = 0;
  for (const { prototype } of builtIns) keys += Object.getOwnPropertyNames(prototype).length;
  for (const _ in {}) keys += 1000;
  return keys;
}
