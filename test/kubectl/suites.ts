import { getting } from "./getting.ts";

/** Everything that a user types. */
export const suites = [getting];
