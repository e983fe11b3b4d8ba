import { parseImageName, repositoryOf } from "../image-name.ts";
import type { PullIntent } from "./pull-record.ts";
import { type ReadRecords, type RecordFiles, recordFileName } from "./record-files.ts";

/** How a pull ended. "unknown": the image may have been pulled. */
export type PullOutcome = "pulled" | "failed" | "unknown";

interface Entry {
  readonly canonical: string;
  /** Pulls in progress. */
  pulls: number;
  /** The outcome of an earlier pull is unknown. */
  unsettled: boolean;
}

/** Which pulls were started, so that a pulled image is never considered preloaded. */
export class PullIntents {
  readonly #files: RecordFiles<PullIntent>;
  readonly #entries = new Map<string, Entry>();
  #broken: ReadonlySet<string> = new Set();

  constructor(files: RecordFiles<PullIntent>) {
    this.#files = files;
  }

  get size(): number {
    return this.#entries.size + this.#broken.size;
  }

  /** Intents of the previous run. */
  load({ values, broken }: ReadRecords<PullIntent>): void {
    this.#broken = broken;
    for (const { image } of values) this.#entries.set(image, entryOf(image, true));
  }

  /** Images whose pulls have an unknown outcome. */
  get unsettled(): string[] {
    return [...this.#entries].filter(([, entry]) => entry.unsettled).map(([image]) => image);
  }

  async add(image: string): Promise<void> {
    const known = this.#entries.get(image);
    if (known) {
      known.pulls++;
      return;
    }
    await this.#files.write({ image });
    const entry = this.#entries.get(image) ?? entryOf(image, false);
    entry.pulls++;
    this.#entries.set(image, entry);
  }

  async end(image: string, outcome: PullOutcome): Promise<void> {
    const entry = this.#entries.get(image);
    if (!entry) return;
    entry.pulls = Math.max(0, entry.pulls - 1);
    if (outcome === "pulled") entry.unsettled = false;
    if (outcome === "unknown") entry.unsettled = true;
    if (entry.pulls > 0 || entry.unsettled) return;
    this.#entries.delete(image);
    await this.#files.remove(image);
  }

  /** True if a pull of this image, by this or an equivalent name, was started. Throws if the intent is not readable. */
  has(image: string): boolean {
    if (this.#entries.has(image)) return true;
    if (this.#broken.has(recordFileName(image))) throw new Error("its record cannot be read");
    const canonical = canonicalImage(image);
    for (const entry of this.#entries.values()) if (entry.canonical === canonical) return true;
    return false;
  }
}

function entryOf(image: string, unsettled: boolean): Entry {
  return { canonical: canonicalImage(image), pulls: 0, unsettled };
}

/** Equal for equivalent image names: "busybox" is "docker.io/library/busybox:latest". */
export function canonicalImage(image: string): string {
  const parsed = parseImageName(image);
  const repository = repositoryOf(image);
  if ("problem" in parsed || !repository) return image;
  if (parsed.digest) return `${repository}@${parsed.digest}`;
  return `${repository}:${parsed.tag ?? "latest"}`;
}
