// Preloaded into every test process: property tests try the same cases in each run, so that a result depends on the
// change under test and not on chance. PROPERTY_SEED=random tries others; a failure names the seed that repeats it.
import { randomInt } from "node:crypto";
import fc from "fast-check";

const { PROPERTY_SEED = "20260401" } = process.env;
const seed = PROPERTY_SEED === "random" ? randomInt(0x7fff_0000) : Number(PROPERTY_SEED);
if (!Number.isSafeInteger(seed))
  throw new Error(`PROPERTY_SEED: ${JSON.stringify(PROPERTY_SEED)} is not a number`);
process.env.PROPERTY_SEED = String(seed);
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
