import { type Clock, msSince } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { MonotonicTime } from "../../lib/base/time.ts";
import type { RuntimeConnection } from "../../lib/clients/cri/connection.ts";
import type { CriClient } from "../../lib/clients/cri/cri.ts";
import type { ImageInfo } from "./images.ts";

/** Images change rarely, and listing them is expensive for the runtime. */
const imagesEveryMs = 30_000;
/** No call to the runtime delays a heartbeat for longer. */
const runtimeMs = 10_000;

interface RecentImagesOptions {
  readonly cri: Pick<CriClient, "listImages">;
  readonly connection: Pick<RuntimeConnection, "state">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The images of the node, listed at most every 30 seconds. */
export class RecentImages {
  readonly #o: RecentImagesOptions;
  #last: { at: MonotonicTime; images: ImageInfo[] } | undefined;

  constructor(options: RecentImagesOptions) {
    this.#o = options;
  }

  /** Undefined until the runtime has listed them once. */
  async list(): Promise<ImageInfo[] | undefined> {
    const { cri, connection, clock, logger } = this.#o;
    const isRecent = this.#last !== undefined && msSince(clock, this.#last.at) < imagesEveryMs;
    // A runtime that is unavailable would delay the heartbeat.
    if (connection.state.kind !== "up" || isRecent) return this.#last?.images;
    try {
      const listed = await cri.listImages({ timeoutMs: runtimeMs });
      const images = listed.map(({ repoDigests, repoTags, size }) => ({
        repoDigests,
        repoTags,
        sizeBytes: Number(size),
      }));
      this.#last = { at: clock.monotonic(), images };
    } catch (error) {
      logger.debug(2, "Failed to list images", { err: messageOf(error) });
    }
    return this.#last?.images;
  }
}
