import { rename, writeFile } from "node:fs/promises";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { CheckpointFile } from "../../../lib/host/checkpoint-file.ts";
import type { ProbeKind, ProbeOutcome, ProbeResults } from "../../state/probe-results.ts";

const storedKinds: readonly ProbeKind[] = ["startup", "readiness"];

/**
 * Stores on disk which containers have started and are ready, so that a restarted agent keeps them so until it has probed
 * them itself. An API server has that too, but a node may have none. Container IDs are never reused, so a stale entry
 * matches no container.
 */
export class ProbeCheckpoint {
  readonly #file: CheckpointFile;
  readonly #results: ProbeResults;
  readonly #logger: Logger;
  /** Results of the previous agent, until this one has its own. */
  #previous = new Map<string, ReadonlySet<ProbeKind>>();

  constructor(o: { path: string; results: ProbeResults; logger: Logger }) {
    const { path, results, logger } = o;
    this.#results = results;
    this.#logger = logger;
    this.#file = new CheckpointFile({
      path,
      content: () => JSON.stringify(this.#content()),
      onError: (error) => logger.info("Failed to store probe results", { path, err: messageOf(error) }),
      // The write need not be durable, which would be slow with many probes: after a power failure there are no containers.
      write: async (to, text) => {
        await writeFile(`${to}.tmp`, text, { mode: 0o600 });
        await rename(`${to}.tmp`, to);
      },
    });
  }

  /** Reads the stored results, and stores changes from now on. */
  async start(): Promise<void> {
    try {
      const read: Record<string, ProbeKind[]> = JSON.parse((await this.#file.read()) ?? "{}");
      this.#previous = new Map(Object.entries(read).map(([id, kinds]) => [id, new Set(kinds)]));
    } catch (error) {
      // Without the checkpoint, containers are not ready until they are probed again, which does no harm.
      const fields = { path: this.#file.path, err: messageOf(error) };
      this.#logger.info("Failed to read stored probe results", fields);
    }
    this.#results.onChange(({ kind }) => {
      if (storedKinds.includes(kind)) void this.#file.save();
    });
  }

  /** The stored result of a container. */
  get(kind: ProbeKind, id: ContainerId): ProbeOutcome | undefined {
    return this.#previous.get(id)?.has(kind) ? "success" : undefined;
  }

  /** Drops entries of containers that are no longer in the runtime. */
  keepOnly(exists: (id: ContainerId) => boolean): void {
    for (const id of this.#previous.keys()) if (!exists(id as ContainerId)) this.#previous.delete(id);
  }

  /** Resolves when all changes have been written. */
  async flushed(): Promise<void> {
    await this.#file.flushed();
  }

  #content(): Record<string, ProbeKind[]> {
    const content: Record<string, ProbeKind[]> = {};
    const add = (id: string, kind: ProbeKind) => {
      const kinds = content[id] ?? [];
      content[id] = kinds;
      kinds.push(kind);
    };
    for (const [id, kinds] of this.#previous)
      for (const kind of kinds) if (this.#results.get(kind, id as ContainerId) === undefined) add(id, kind);
    for (const { kind, id, outcome } of this.#results.all())
      if (outcome === "success" && storedKinds.includes(kind)) add(id, kind);
    return content;
  }
}
