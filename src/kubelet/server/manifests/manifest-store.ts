import { createHash } from "node:crypto";
import { messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { type Pod, podRef } from "../../../lib/model/pod.ts";
import type { ManifestProblem, ManifestPutResult } from "./applied-manifest.ts";
import { ManifestDir } from "./manifest-dir.ts";

/** Creates the pods of a manifest, or returns all validation errors. */
export type DecodeManifest = (
  name: string,
  bytes: Uint8Array,
) =>
  | { readonly pods: Pod[]; readonly warnings: readonly ManifestProblem[] }
  | { readonly problems: readonly ManifestProblem[] };

export interface ManifestStoreOptions {
  /** Its own directory; created with the first manifest. */
  readonly dir: string;
  readonly decode: DecodeManifest;
  readonly logger: Logger;
  /** The other source that has a pod of this name, for example "file". The manifest is rejected if there is one. */
  readonly otherSourceOf?: (pod: Pod) => string | undefined;
  /** The maximum number; default 1000. */
  readonly maxManifests?: number;
}

export interface StoredManifest {
  readonly name: string;
  readonly digest: string;
  readonly bytes: number;
  readonly modified: Date;
  readonly pods: readonly Pod[];
  /** Why it has no pods: it was valid when it was stored, and is no longer. */
  readonly problems: readonly ManifestProblem[];
}

/**
 * Manifests that were applied over HTTP: acknowledged ones are on disk. Changes are serialized; the last one
 * wins.
 */
export class ManifestStore {
  readonly #o: ManifestStoreOptions;
  readonly #directory: ManifestDir;
  readonly #maxManifests: number;
  #manifests = new Map<string, StoredManifest>();
  #listeners = new Set<() => void>();
  /** Names whose last change failed, so that the file may not be durable. */
  readonly #uncertain = new Set<string>();
  readonly #opened = Promise.withResolvers<void>();
  #last: Promise<unknown> = this.#opened.promise;

  constructor(options: ManifestStoreOptions) {
    this.#o = options;
    this.#directory = new ManifestDir(options.dir);
    this.#maxManifests = options.maxManifests ?? 1000;
  }

  /** Resolves when the manifests of earlier runs were read. Changes wait for it. */
  get ready(): Promise<void> {
    return this.#opened.promise;
  }

  /** Reads the manifests of earlier runs; for the only process that uses the directory. */
  async open(): Promise<void> {
    await this.#directory.removeDraft();
    for (const name of await this.#directory.names()) {
      const file = await this.#directory.read(name);
      if (!file) continue;
      const manifest = this.#manifestOf(name, file.bytes, file.modified);
      this.#manifests.set(name, manifest);
      for (const { field, message } of manifest.problems)
        this.#o.logger.warn("Ignoring stored manifest that is not a valid pod", {
          manifest: name,
          field,
          err: message,
        });
    }
    this.#opened.resolve();
  }

  /** The pods of all manifests, by the manifests' names. */
  pods(): Pod[] {
    return this.list().flatMap((manifest) => [...manifest.pods]);
  }

  list(): StoredManifest[] {
    return [...this.#manifests.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(name: string): StoredManifest | undefined {
    return this.#manifests.get(name);
  }

  /** The content as stored. */
  async read(name: string): Promise<Buffer | undefined> {
    return this.#manifests.has(name) ? (await this.#directory.read(name))?.bytes : undefined;
  }

  /** Calls back after each change of `pods`; the returned function unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Resolves when the change is durable. A rejected or failed put changes nothing. */
  put(name: string, bytes: Uint8Array): Promise<ManifestPutResult> {
    return this.#enqueue(() => this.#put(name, bytes));
  }

  /** The result that `put` would have, without changing anything. */
  async check(name: string, bytes: Uint8Array): Promise<ManifestPutResult> {
    await this.ready;
    return this.#plan(name, bytes);
  }

  /** False if there is no such manifest. */
  remove(name: string): Promise<boolean> {
    return this.#enqueue(async () => {
      if (!this.#manifests.has(name) && !this.#uncertain.has(name)) return false;
      await this.#directory.remove(name).catch((error) => this.#failed(name, error));
      this.#uncertain.delete(name);
      if (!this.#manifests.delete(name)) return false;
      this.#changed();
      return true;
    });
  }

  async #put(name: string, bytes: Uint8Array): Promise<ManifestPutResult> {
    const result = this.#plan(name, bytes);
    if (result.kind !== "created" && result.kind !== "replaced") return result;
    await this.#directory.write(name, bytes).catch((error) => this.#failed(name, error));
    this.#uncertain.delete(name);
    const { pods } = result;
    const stored = { name, digest: digestOf(bytes), bytes: bytes.length, modified: new Date() };
    this.#manifests.set(name, { ...stored, pods, problems: [] });
    this.#changed();
    return result;
  }

  #plan(name: string, bytes: Uint8Array): ManifestPutResult {
    const previous = this.#manifests.get(name);
    const decoded = this.#o.decode(name, bytes);
    if ("problems" in decoded) return { kind: "invalid", problems: decoded.problems };
    const { pods, warnings } = decoded;
    const conflicting = this.#conflictIn(name, pods) ?? this.#inOtherSource(pods);
    if (conflicting) return { kind: "conflict", ...conflicting };
    if (!previous && this.#manifests.size >= this.#maxManifests)
      return { kind: "full", max: this.#maxManifests };
    const isSame = previous?.digest === digestOf(bytes) && previous.problems.length === 0;
    if (isSame && !this.#uncertain.has(name)) return { kind: "unchanged", pods, warnings };
    return { kind: previous ? "replaced" : "created", pods, warnings };
  }

  /** An unacknowledged change may have been stored: the file on disk is authoritative. */
  async #failed(name: string, error: unknown): Promise<never> {
    this.#uncertain.add(name);
    const file = await this.#directory.read(name).catch(() => {
      throw error; // unknown: the previous state is still desired
    });
    const known = this.#manifests.get(name);
    if (file && digestOf(file.bytes) !== known?.digest)
      this.#manifests.set(name, this.#manifestOf(name, file.bytes, file.modified));
    else if (!file && known) this.#manifests.delete(name);
    else throw error;
    this.#changed();
    throw error;
  }

  #manifestOf(name: string, bytes: Buffer, modified: Date): StoredManifest {
    const decoded = this.#o.decode(name, bytes);
    const conflicting = "pods" in decoded ? this.#conflictIn(name, decoded.pods) : undefined;
    const problems = "problems" in decoded ? decoded.problems : conflicting ? [conflict(conflicting)] : [];
    const pods = "pods" in decoded && !conflicting ? decoded.pods : [];
    return { name, digest: digestOf(bytes), bytes: bytes.length, modified, pods, problems };
  }

  /** The manifest that already has one of the pods. */
  #conflictIn(name: string, pods: readonly Pod[]): { pod: string; holder: string } | undefined {
    const own = new Map<string, string>();
    for (const other of this.#manifests.values())
      if (other.name !== name)
        for (const pod of other.pods) for (const key of keysOf(pod)) own.set(key, other.name);
    for (const pod of pods)
      for (const key of keysOf(pod)) {
        const holder = own.get(key);
        if (holder !== undefined) return { pod: podRef(pod), holder: `manifest "${holder}"` };
        own.set(key, name);
      }
    return undefined;
  }

  /** Finds a pod that another source has. Called only for new manifests: for existing ones, the order of the sources decides. */
  #inOtherSource(pods: readonly Pod[]): { pod: string; holder: string } | undefined {
    for (const pod of pods) {
      const source = this.#o.otherSourceOf?.(pod);
      if (source !== undefined) return { pod: podRef(pod), holder: `the pods of source "${source}"` };
    }
    return undefined;
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  #changed(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        this.#o.logger.error("Failed to apply manifest change", { err: messageOf(error) });
      }
    }
  }
}

function keysOf(pod: Pod): string[] {
  return [`uid ${pod.metadata.uid}`, `name ${podRef(pod)}`];
}

function conflict({ pod, holder }: { pod: string; holder: string }): ManifestProblem {
  return { field: "metadata.name", message: `pod "${pod}" is already in ${holder}` };
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
