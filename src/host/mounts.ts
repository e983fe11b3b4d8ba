import { readFile } from "node:fs/promises";

/** The mount points of this process, oldest first. */
export async function mountPoints(mountinfo = "/proc/self/mountinfo"): Promise<string[]> {
  const text = await readFile(mountinfo, "utf8");
  return text.split("\n").flatMap((line) => {
    const point = line.split(" ")[4];
    return point ? [unescaped(point)] : [];
  });
}

/** The mount points at or below a folder. */
export async function mountsBelow(dir: string, mountinfo?: string): Promise<string[]> {
  const points = await mountPoints(mountinfo);
  return points.filter((point) => point === dir || point.startsWith(`${dir}/`));
}

/** The kernel writes space, tab, newline and backslash in octal. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
