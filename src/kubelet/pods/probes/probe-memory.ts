import { readFile, rename, writeFile } from "node:fs/promises";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { ProbeKind, ProbeOutcome, ProbeResults } from "../../state/probe-results.ts";

const remembered: readonly ProbeKind[] = ["startup", "readiness"];

/**
 * Keeps on disk which containers have started and are ready, so that a new agent does not take that from them before it
 * has asked them itself. An API server would know it too; a node without one has nobody else to ask. Container IDs are
 * never used twice, so what is too old is nobody's.
 */
export class ProbeMemory {
  readonly #path: string;
  readonly #results: ProbeResults;
  readonly #logger: Logger;
  /** From before this agent, until its own results take over. */
  #before = new Map<string, ReadonlySet<ProbeKind>>();
  #written = "";
  #writing: Promise<void> | undefined;
  #dirty = false;

  constructor(o: { path: string; results: ProbeResults; logger: Logger }) {
    this.#path = o.path;
    this.#results = o.results;
    this.#logger = o.logger;
  }

  /** Reads what was known, and writes down what becomes known from now on. */
  async start(): Promise<void> {
    try {
      const read: Record<string, ProbeKind[]> = JSON.parse(await readFile(this.#path, "utf8"));
      this.#before = new Map(Object.entries(read).map(([id, kinds]) => [id, new Set(kinds)]));
    } catch (error) {
      // Without it containers are asked before they count as ready, which is no harm.
      if (errnoOf(error) !== "ENOENT")
        this.#logger.info("Failed to read stored probe results", { path: this.#path, err: messageOf(error) });
    }
    this.#results.onChange(({ kind }) => {
      if (remembered.includes(kind)) this.#save();
    });
  }

  /** What was known of a container before this agent. */
  known(kind: ProbeKind, id: ContainerId): ProbeOutcome | undefined {
    return this.#before.get(id)?.has(kind) ? "success" : undefined;
  }

  /** Forgets what is not in the runtime any more. */
  keepOnly(exists: (id: ContainerId) => boolean): void {
    for (const id of this.#before.keys()) if (!exists(id as ContainerId)) this.#before.delete(id);
  }

  /** Resolves when all that is known has been written. */
  async flushed(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  #save(): void {
    this.#dirty = true;
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    // What becomes known in the same turn goes into the same write.
    await Promise.resolve();
    while (this.#dirty) {
      this.#dirty = false;
      const text = JSON.stringify(this.#content());
      if (text === this.#written) continue;
      try {
        await writeFile(`${this.#path}.tmp`, text, { mode: 0o600 });
        await rename(`${this.#path}.tmp`, this.#path);
        this.#written = text;
      } catch (error) {
        this.#logger.info("Failed to store probe results", { path: this.#path, err: messageOf(error) });
      }
    }
    // Together with the last look at what is to be written: whoever changes something after it begins another write.
    this.#writing = undefined;
  }

  #content(): Record<string, ProbeKind[]> {
    const content: Record<string, ProbeKind[]> = {};
    const note = (id: string, kind: ProbeKind) => {
      const kinds = content[id] ?? [];
      content[id] = kinds;
      kinds.push(kind);
    };
    for (const [id, kinds] of this.#before)
      for (const kind of kinds) if (this.#results.get(kind, id as ContainerId) === undefined) note(id, kind);
    for (const { kind, id, outcome } of this.#results.all())
      if (outcome === "success" && remembered.includes(kind)) note(id, kind);
    return content;
  }
}
