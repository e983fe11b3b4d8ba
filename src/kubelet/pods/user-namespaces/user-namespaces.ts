import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { KeyedLocks } from "../../../lib/base/keyed-locks.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type IdRange, IdRanges } from "./id-ranges.ts";
import { type Mappings, readMappings, removeMappings, writeMappings } from "./mappings-file.ts";
import { podIdRange, type UserDatabase } from "./subordinate-ids.ts";

const defaultIdsPerPod = 65_536;

export interface UserNamespacesOptions {
  /** Contains a directory for each pod UID. */
  podsDir: string;
  idsPerPod?: number;
  maxPods: number;
  users?: UserDatabase;
}

/** A runtime handler, as reported by the runtime. */
export interface HandlerFeatures {
  readonly name: string;
  readonly userNamespaces: boolean;
}

/**
 * Assigns host IDs to pods with `hostUsers: false`, and records them in the pod's directory, so that a pod keeps its IDs
 * across restarts of the agent.
 */
export class UserNamespaces {
  readonly #o: UserNamespacesOptions;
  readonly #idsPerPod: number;
  /** By pod: its sandbox and the pulls of its images need the IDs at the same time. */
  readonly #locks = new KeyedLocks();
  #ranges: Promise<IdRanges> | undefined;

  constructor(options: UserNamespacesOptions) {
    this.#o = options;
    this.#idsPerPod = options.idsPerPod || defaultIdsPerPod;
  }

  /** Loads the range of IDs and the records of pods. Fails if one of them is invalid. */
  async start(): Promise<void> {
    await this.#load();
  }

  /** The pod's IDs, which are allocated at the first call. */
  async mappingsFor(uid: PodUid): Promise<Mappings> {
    const ranges = await this.#load();
    using _ = await this.#locks.acquire([uid]);
    const dir = join(this.#o.podsDir, uid);
    const recorded = await readMappings(dir);
    if (recorded) {
      ranges.record(uid, recorded.first, recorded.length);
      return recorded;
    }
    const fresh = { first: ranges.allocate(uid), length: ranges.idsPerPod };
    try {
      await writeMappings(dir, fresh);
    } catch (error) {
      ranges.release(uid);
      throw error;
    }
    return fresh;
  }

  /** Call it only when the pod has terminated and no longer has files with its IDs. */
  async release(uid: PodUid): Promise<void> {
    // A pod can terminate even if the records cannot be loaded.
    const ranges = await this.#load().catch(() => undefined);
    using _ = await this.#locks.acquire([uid]);
    if (ranges && ranges.of(uid) === undefined) return;
    await removeMappings(join(this.#o.podsDir, uid));
    ranges?.release(uid);
  }

  #load(): Promise<IdRanges> {
    this.#ranges ??= this.#read().catch((error) => {
      // The next call retries.
      this.#ranges = undefined;
      throw error;
    });
    return this.#ranges;
  }

  async #read(): Promise<IdRanges> {
    const range: IdRange = await podIdRange(this.#idsPerPod, this.#o.users);
    const ranges = new IdRanges({ range, idsPerPod: this.#idsPerPod, maxPods: this.#o.maxPods });
    for (const uid of (await subdirectories(this.#o.podsDir)) as PodUid[]) {
      try {
        const recorded = await readMappings(join(this.#o.podsDir, uid));
        if (recorded) ranges.record(uid, recorded.first, recorded.length);
      } catch (error) {
        const message = `record pod mappings for existing pod "${uid}": ${messageOf(error)}`;
        throw new KubeletError("UserNamespaces", message, { cause: error });
      }
    }
    return ranges;
  }
}

/** Throws if the handler does not support user namespaces. */
export function requireUserNamespaces(handler: string, handlers: readonly HandlerFeatures[]): void {
  const found = handlers.find(({ name }) => name === handler);
  if (found?.userNamespaces) return;
  const subject = handler === "" ? "runtime" : `RuntimeClass handler "${handler}"`;
  // An old runtime reports no handlers.
  const unknown = !found && handlers.length > 0 ? `: the handler "${handler}" is unknown` : "";
  throw new KubeletError(
    "UserNamespaces",
    `can't set \`spec.hostUsers: false\`, ${subject} does not support user namespaces${unknown}`,
  );
}

async function subdirectories(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
