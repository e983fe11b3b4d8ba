import { dateOf, type WallTime } from "../../../../lib/base/time.ts";
/** The symlink to the directory with the files; the files in the root are symlinks through it. */
export const dataLink = "..data";
/** The new symlink, before it is renamed to `..data`. */
export const newDataLink = "..data_tmp";

const generation = /^\.\.\d{4}(?:_\d{2}){5}\.\d+$/;

/** A unique directory name with a timestamp: "..2026_01_31_09_05_00.1234567890". */
export function newGenerationName(now: WallTime, random: () => number): string {
  const [date = "", time = ""] = dateOf(now).toISOString().split(/[T.]/);
  const when = `${date}_${time}`.replace(/[-:]/g, "_");
  return `..${when}.${Math.floor(random() * 4_294_967_296)}`;
}

/** An entry in the root of a volume; `target` if it is a symlink. */
export interface RootEntry {
  readonly name: string;
  readonly isDirectory: boolean;
  readonly target?: string | undefined;
}

export interface RootPlan {
  /** Names without a symlink into the data. */
  readonly missing: readonly string[];
  /** Symlinks to removed files, old generations, and entries of interrupted writes. */
  readonly remove: readonly string[];
}

/** Other entries of the root (mount points of other volumes) are left alone. */
export function planRoot(
  entries: readonly RootEntry[],
  current: string,
  desired: ReadonlySet<string>,
): RootPlan {
  const existing = new Set(entries.map(({ name }) => name));
  const isStale = ({ name, isDirectory, target }: RootEntry) => {
    if (name === newDataLink) return true;
    if (isDirectory) return generation.test(name) && name !== current;
    return target === `${dataLink}/${name}` && !desired.has(name);
  };
  return {
    missing: [...desired].filter((name) => !existing.has(name)),
    remove: entries.filter(isStale).map(({ name }) => name),
  };
}
