import { dateOf, type WallTime } from "../../../../lib/base/time.ts";
/** What files of a volume are links into: the link that leads to the folder with the files. */
export const dataLink = "..data";
/** That link's successor, until it takes its place. */
export const newDataLink = "..data_tmp";

const generation = /^\.\.\d{4}(?:_\d{2}){5}\.\d+$/;

/** A name that says when, and that no other folder has: "..2026_01_31_09_05_00.1234567890". */
export function newGenerationName(now: WallTime, random: () => number): string {
  const [date = "", time = ""] = dateOf(now).toISOString().split(/[T.]/);
  const when = `${date}_${time}`.replace(/[-:]/g, "_");
  return `..${when}.${Math.floor(random() * 4_294_967_296)}`;
}

/** Something in the root of a volume; `target` if it is a link. */
export interface RootEntry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly target?: string | undefined;
}

export interface RootPlan {
  /** Names for which a link into the data is missing. */
  readonly show: readonly string[];
  /** Links to what is no longer there, former generations, and what was never finished. */
  readonly remove: readonly string[];
}

/** What else is in the root (mount points of other volumes) is left alone. */
export function planRoot(
  entries: readonly RootEntry[],
  current: string,
  wanted: ReadonlySet<string>,
): RootPlan {
  const there = new Set(entries.map(({ name }) => name));
  const isStale = ({ name, isFolder, target }: RootEntry) => {
    if (name === newDataLink) return true;
    if (isFolder) return generation.test(name) && name !== current;
    return target === `${dataLink}/${name}` && !wanted.has(name);
  };
  return {
    show: [...wanted].filter((name) => !there.has(name)),
    remove: entries.filter(isStale).map(({ name }) => name),
  };
}
