import { generalFlags } from "./general-flags.ts";
import { nodeFlags } from "./node-flags.ts";
import { podFlags } from "./pod-flags.ts";
import { resourceFlags } from "./resource-flags.ts";
import { serverFlags } from "./server-flags.ts";
import type { FlagGroup, FlagSpec } from "./spec.ts";

/** All flags of kubelet v1.36 and a few of our own, by subject. */
export const flagGroups: readonly FlagGroup[] = [
  ...generalFlags,
  ...podFlags,
  ...nodeFlags,
  ...resourceFlags,
  ...serverFlags,
];

export const flagTable: ReadonlyMap<string, FlagSpec> = new Map(
  flagGroups.flatMap(({ flags }) => flags).map((flag) => [flag.name, flag]),
);
