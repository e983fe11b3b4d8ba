import { readFileSync } from "node:fs";
import type { Recorded } from "./record.ts";

/** The recorded state of a node that ran kubelet v1.36.4. */
export const recorded: Recorded = JSON.parse(
  readFileSync(new URL("../fixtures/takeover/reference-1.36.json", import.meta.url), "utf8"),
);
