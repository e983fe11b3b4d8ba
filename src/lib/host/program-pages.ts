import { readFile } from "node:fs/promises";
import { libc } from "./libc.ts";

interface Range {
  readonly start: bigint;
  readonly end: bigint;
}

interface Mapping extends Range {
  readonly permissions: string;
  /** Device and inode. */
  readonly file: string;
  /** The size of the pages that differ from the file, in memory or in swap. */
  modifiedKb: number;
}

const header = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) [0-9a-f]+ (\S+ (\d+))/;
const modified = /^(?:Anonymous|Swap):\s+(\d+) kB$/;

/**
 * The mappings of files that hold only unmodified pages, which the process cannot write to: code and constants of the program and its
 * libraries. From the text of an smaps file.
 */
export function unmodifiedFileMappings(smaps: string): Range[] {
  const mappings: Mapping[] = [];
  for (const line of smaps.split("\n")) {
    const [, start, end, permissions, file, inode] = header.exec(line) ?? [];
    if (start && end)
      mappings.push({
        start: BigInt(`0x${start}`),
        end: BigInt(`0x${end}`),
        permissions: permissions!,
        file: inode === "0" ? "" : file!,
        modifiedKb: 0,
      });
    else mappings.at(-1)!.modifiedKb += Number(modified.exec(line)?.[1] ?? 0);
  }
  // Other files may be unmapped at any time, and their addresses used for data.
  const programs = new Set(mappings.filter((m) => m.permissions.includes("x")).map((m) => m.file));
  return mappings
    .filter((m) => m.file && programs.has(m.file) && /^r-[x-]p$/.test(m.permissions))
    .filter((m) => m.modifiedKb === 0) // relocated constants are read-only, too, but differ from the file
    .map(({ start, end }) => ({ start, end }));
}

/**
 * Unmaps the pages of the program that are in memory. Pages that it needs again are mapped again from the page cache. Pages that only
 * startup has used remain unmapped.
 */
export async function releaseProgramPages(): Promise<void> {
  // Loaded before: that maps and unmaps files.
  const { releasePages } = await libc();
  const ranges = unmodifiedFileMappings(await readFile("/proc/self/smaps", "utf8"));
  for (const { start, end } of ranges) releasePages(start, end - start);
}
