import { libc } from "./libc.ts";

/** Limits how many files this process, and the programs that it starts, may have open. */
export async function setOpenFileLimit(files: number): Promise<void> {
  (await libc()).limitOpenFiles(files);
}
