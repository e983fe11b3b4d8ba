import { KubeletError } from "../../../../lib/base/errors.ts";

/** The texts of `/etc/projects` ("ID:DIRECTORY") and `/etc/projid` ("NAME:ID"), by which tools and kubelets reserve projects. */
export interface ProjectFiles {
  readonly projects: string;
  readonly projid: string;
}

/** As in the reference kubelet, far from those that administrators choose. */
const firstProject = 1_048_577;
/** A filesystem on which none of these is free has another user of all of them. */
const maxSearched = 128;

/** The project of a directory, if one is reserved for it. */
export function reservedProject({ projects }: ProjectFiles, dir: string): number | undefined {
  return entriesOf(projects).find((entry) => entry.dir === dir)?.project;
}

/** The next project that no file names and for which `isFree` returns true. */
export async function freeProject(
  { projects, projid }: ProjectFiles,
  isFree: (project: number) => Promise<boolean>,
): Promise<number> {
  const named = [...projid.matchAll(/^[^#:\n][^:\n]*:(\d+)$/gm)].map(([, id]) => Number(id));
  const taken = new Set([...entriesOf(projects).map(({ project }) => project), ...named]);
  let searched = 0;
  for (let project = firstProject; searched <= maxSearched; project++) {
    if (taken.has(project)) continue;
    if (await isFree(project)) return project;
    searched++;
  }
  throw new KubeletError("DiskQuota", "cannot find available quota ID");
}

/** Adds a reservation of the project for the directory. */
export function withReservation(files: ProjectFiles, dir: string, project: number): ProjectFiles {
  return {
    projects: `${ended(files.projects)}${project}:${dir}\n`,
    projid: `${ended(files.projid)}volume${project}:${project}\n`,
  };
}

/** Removes the reservations of the directory. All other lines are unchanged. */
export function withoutReservation(files: ProjectFiles, dir: string): ProjectFiles {
  const project = reservedProject(files, dir);
  if (project === undefined) return files;
  const projects = lines(files.projects).filter((line) => entryOf(line)?.dir !== dir);
  const isShared = projects.some((line) => entryOf(line)?.project === project);
  const projid = isShared
    ? files.projid
    : text(lines(files.projid).filter((line) => line !== `volume${project}:${project}`));
  return { projects: text(projects), projid };
}

const lines = (content: string): string[] => (content === "" ? [] : ended(content).slice(0, -1).split("\n"));
const text = (all: readonly string[]): string => all.map((line) => `${line}\n`).join("");
const ended = (content: string): string =>
  content === "" || content.endsWith("\n") ? content : `${content}\n`;

function entryOf(line: string): { project: number; dir: string } | undefined {
  const [, project, dir] = /^(\d+):(.*)$/.exec(line) ?? [];
  return project === undefined || dir === undefined ? undefined : { project: Number(project), dir };
}

function entriesOf(projects: string): { project: number; dir: string }[] {
  return lines(projects).flatMap((line) => entryOf(line) ?? []);
}
