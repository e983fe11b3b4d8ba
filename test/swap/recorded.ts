import { readFileSync } from "node:fs";
import type { Recorded } from "./record.ts";

/** A node as kubelet v1.36.4 has left it. */
export const recorded: Recorded = JSON.parse(
  readFileSync(new URL("../fixtures/swap/reference-1.36.json", import.meta.url), "utf8"),
);
