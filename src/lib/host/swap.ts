import { readFile } from "node:fs/promises";
import { errnoOf } from "../base/errors.ts";

/** Whether the machine swaps to any device. A kernel without swap support does not have the file. */
export async function isSwapOn(swapsFile = "/proc/swaps"): Promise<boolean> {
  const text = await readFile(swapsFile, "utf8").catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return "";
    throw error;
  });
  // The first line has the titles of the columns.
  return text.trim().split("\n").length > 1;
}
