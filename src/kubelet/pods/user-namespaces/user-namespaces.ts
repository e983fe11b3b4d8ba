import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type IdRange, IdRanges } from "./id-ranges.ts";
import { type Mappings, readMappings, removeMappings, writeMappings } from "./mappings-file.ts";
import { podIdRange, type UserDatabase } from "./subordinate-ids.ts";

const defaultIdsPerPod = 65_536;

export interface UserNamespacesOptions {
  /** Each pod has a folder in it, by its UID. */
  podsDir: string;
  idsPerPod?: number;
  maxPods: number;
  users?: UserDatabase;
}

/** A runtime handler, as the runtime told of it. */
export interface HandlerFeatures {
  readonly name: string;
  readonly userNamespaces: boolean;
}

/**
 * Gives pods with `hostUsers: false` IDs of their own, and remembers them in the pod's folder, so that a pod keeps its IDs
 * over a restart of the agent.
 */
export class UserNamespaces {
  readonly #o: UserNamespacesOptions;
  readonly #idsPerPod: number;
  #ranges: Promise<IdRanges> | undefined;

  constructor(options: UserNamespacesOptions) {
    this.#o = options;
    this.#idsPerPod = options.idsPerPod || defaultIdsPerPod;
  }

  /** Finds out which IDs there are, and which of them pods have. Fails if that cannot be known for sure. */
  async start(): Promise<void> {
    await this.#known();
  }

  /** The pod's IDs; new ones if it has none yet. */
  async mappingsFor(uid: PodUid): Promise<Mappings> {
    const ranges = await this.#known();
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

  /** Takes the IDs back. Only when nothing of the pod runs any more, and its files are gone or nobody's. */
  async release(uid: PodUid): Promise<void> {
    // Where it is not known who has which IDs, a pod can end all the same.
    const ranges = await this.#known().catch(() => undefined);
    if (ranges && ranges.of(uid) === undefined) return;
    await removeMappings(join(this.#o.podsDir, uid));
    ranges?.release(uid);
  }

  /** Takes back the IDs of pods that are not known any more. */
  async releaseOthers(isKnown: (uid: PodUid) => boolean): Promise<void> {
    const ranges = await this.#known();
    for (const uid of ranges.uids()) if (!isKnown(uid)) await this.release(uid);
  }

  #known(): Promise<IdRanges> {
    this.#ranges ??= this.#read().catch((error) => {
      // Whoever asks next tries again.
      this.#ranges = undefined;
      throw error;
    });
    return this.#ranges;
  }

  async #read(): Promise<IdRanges> {
    const range: IdRange = await podIdRange(this.#idsPerPod, this.#o.users);
    const ranges = new IdRanges({ range, idsPerPod: this.#idsPerPod, maxPods: this.#o.maxPods });
    for (const uid of (await folders(this.#o.podsDir)) as PodUid[]) {
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

/** Throws if the runtime cannot give pods of this handler a user namespace. */
export function requireUserNamespaces(handler: string, handlers: readonly HandlerFeatures[]): void {
  const found = handlers.find(({ name }) => name === handler);
  if (found?.userNamespaces) return;
  const who = handler === "" ? "runtime" : `RuntimeClass handler "${handler}"`;
  // An old runtime tells of no handlers at all.
  const unknown = !found && handlers.length > 0 ? `: the handler "${handler}" is not known` : "";
  throw new KubeletError(
    "UserNamespaces",
    `can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces${unknown}`,
  );
}

async function folders(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
