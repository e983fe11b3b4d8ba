import { systemClock } from "../../../../lib/base/clock.ts";
import { writeAtomically } from "./atomic-writer.ts";
import { payloadOf } from "./fake-volume-dir.ts";

/** Every line of a file is its version, the last one "end": a partial file is recognizable. */
export function versionText(version: number, lines = 200): string {
  return `${`${version}\n`.repeat(lines)}end`;
}

export function versionFiles(version: number, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, versionText(version)]));
}

/** For tests, as a program: writes one version after another until it is killed. */
async function writeForever(dir: string, from: number, names: readonly string[]): Promise<void> {
  for (let version = from; ; version++) {
    await writeAtomically(dir, payloadOf(versionFiles(version, names)), { clock: systemClock });
    if (version === from) process.stdout.write("writing\n");
  }
}

const [, , dir, from, ...names] = process.argv;
if (import.meta.main && dir) await writeForever(dir, Number(from), names);
