import { readFile } from "node:fs/promises";
import { libc } from "./libc.ts";

interface Range {
  readonly start: bigint;
  readonly end: bigint;
}

const header = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) [0-9a-f]+ \S+ (\d+)/;

/**
 * The mappings of files that hold only unmodified pages, which the process cannot write to: code and constants of the program and its
 * libraries. From the text of an smaps file.
 */
export function unmodifiedFileMappings(smaps: string): Range[] {
  const found: Range[] = [];
  let mapping: (Range & { readonly isProgram: boolean }) | undefined;
  for (const line of smaps.split("\n")) {
    const [, start, end, permissions, inode] = header.exec(line) ?? [];
    if (start && end)
      mapping = {
        start: BigInt(`0x${start}`),
        end: BigInt(`0x${end}`),
        isProgram: /^r-[x-]p$/.test(permissions!) && inode !== "0",
      };
    // Relocated constants are read-only, too, but differ from the file.
    else if (mapping?.isProgram && /^Anonymous:\s+0 kB$/.test(line)) found.push(mapping);
  }
  return found.map(({ start, end }) => ({ start, end }));
}

/**
 * Unmaps the pages of the program that are in memory. Those that it needs again are mapped again from the page cache when it uses them;
 * those that only startup has used stay unmapped.
 */
export async function releaseProgramPages(): Promise<void> {
  const ranges = unmodifiedFileMappings(await readFile("/proc/self/smaps", "utf8"));
  const { releasePages } = await libc();
  for (const { start, end } of ranges) releasePages(start, end - start);
}
