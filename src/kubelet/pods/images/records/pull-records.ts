import { join } from "node:path";
import type { Clock } from "../../../../lib/base/clock.ts";
import type { Component } from "../../../../lib/base/component.ts";
import { ConcurrencyLimiter } from "../../../../lib/base/concurrency-limiter.ts";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { createMetrics, type Metrics } from "../../../../lib/base/metrics.ts";
import { runPeriodically } from "../../../../lib/base/run-periodically.ts";
import type { WallTime } from "../../../../lib/base/time.ts";
import type { ImageService } from "../../../../lib/clients/cri/cri.ts";
import type { TrackedCredential } from "../tracked-credential.ts";
import { withAccess } from "./merge-access.ts";
import { accessFrom, checkAccess, dependsOnPod, podCredentials } from "./pod-access.ts";
import { canonicalImage, PullIntents, type PullOutcome } from "./pull-intents.ts";
import {
  decodeIntent,
  decodeRecord,
  encodeIntent,
  encodeRecord,
  type ImagePullCredentials,
  type PulledRecord,
  type PullIntent,
} from "./pull-record.ts";
import { RecordFiles, recordFileName } from "./record-files.ts";
import { type CheckResult, type RecordCounts, type RecordMetrics, recordMetrics } from "./record-metrics.ts";
import { trimTagAndDigest, type VerificationPolicy } from "./verification-policy.ts";

export interface PullRecordsOptions {
  rootDir: string;
  policy: VerificationPolicy;
  images: Pick<ImageService, "listImages">;
  clock: Clock;
  logger: Logger;
  metrics?: Metrics;
  /** Expected maximum of records, for the metrics. */
  expected?: RecordCounts;
}

/** An image that is present. */
export interface PresentImage {
  /** The name of the image in the spec of the pod. */
  readonly image: string;
  readonly imageRef: string;
}

const gcPeriodMs = 5 * 60_000;

/** Records on disk which images were pulled with which credentials, and checks which pods may use them. */
export class PullRecords implements Component {
  readonly name = "pull-records";
  readonly #o: PullRecordsOptions;
  readonly #metrics: RecordMetrics;
  readonly #intents: PullIntents;
  readonly #intentFiles: RecordFiles<PullIntent>;
  readonly #recordFiles: RecordFiles<PulledRecord>;
  /** One writer at a time: disk and memory change together. */
  readonly #writes = new ConcurrencyLimiter(1);
  readonly #records = new Map<string, PulledRecord>();
  #broken: ReadonlySet<string> = new Set();
  #loaded = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: PullRecordsOptions) {
    this.#o = options;
    const { logger, metrics = createMetrics(), expected = { intents: 220, pulled: 550 } } = options;
    this.#intentFiles = new RecordFiles<PullIntent>({
      dir: join(options.rootDir, "image_manager", "pulling"),
      encode: encodeIntent,
      decode: decodeIntent,
      subjectOf: (intent) => intent.image,
      logger,
    });
    this.#recordFiles = new RecordFiles<PulledRecord>({
      dir: join(options.rootDir, "image_manager", "pulled"),
      encode: encodeRecord,
      decode: decodeRecord,
      subjectOf: (record) => record.imageRef,
      logger,
    });
    this.#intents = new PullIntents(this.#intentFiles);
    this.#metrics = recordMetrics(metrics, () => this.#counts(), expected);
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  /** Resolves when the records of previous runs are loaded; no image may be checked before. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    await this.#load();
    await this.#settleIntents(signal);
    this.#loop = runPeriodically(() => this.#collectGarbage(signal), {
      clock,
      everyMs: gcPeriodMs,
      signal,
      onError: (error) =>
        logger.warn("Failed to garbage collect image pull records", { err: messageOf(error) }),
    });
  }

  /** Before a pull of the image (as in the pod). Must be followed by one `recordImagePulled` or `recordPullEnded`. */
  recordPullIntent(image: string): Promise<void> {
    return this.#writes.run(async () => {
      try {
        await this.#intents.add(image);
      } catch (error) {
        const what = `Failed to record image pull intent for container image "${image}"`;
        throw new KubeletError("ErrImagePull", `${what}: ${messageOf(error)}`, { cause: error });
      }
    });
  }

  /** The image was pulled with this credential, or anonymously. */
  async recordImagePulled(
    { image, imageRef }: PresentImage,
    credential: TrackedCredential | undefined,
  ): Promise<void> {
    const how = await this.#record({ image, imageRef }, accessFrom(credential));
    // Without a record the intent is kept, so that the image does not count as preloaded.
    await this.recordPullEnded(image, how);
  }

  /** The pull failed, or its outcome is unknown. */
  recordPullEnded(image: string, how: PullOutcome): Promise<void> {
    return this.#writes.run(() =>
      this.#intents
        .end(image, how)
        .catch((error) => this.#logError("Failed to remove image pull intent", { image }, error)),
    );
  }

  /**
   * Whether the pod has to pull the image to verify its credentials, which are looked up only if access depends on them. The check is
   * counted, unless no container needs the image yet.
   */
  async mustPull(
    present: PresentImage,
    credentials: () => Promise<readonly TrackedCredential[]>,
    { isCounted = true } = {},
  ): Promise<boolean> {
    let result: CheckResult = "error";
    try {
      result = await this.#check(present, credentials);
    } finally {
      if (isCounted) this.#metrics.checked(result);
    }
    return result === "mustAuthenticate" || result === "error";
  }

  /** Removes records of images that are not listed, unless they were updated since `until`, a time before the listing. */
  prune(imageRefs: Iterable<string>, until: WallTime): Promise<void> {
    const present = new Set(imageRefs);
    return this.#writes.run(async () => {
      for (const { imageRef, updatedAt } of [...this.#records.values()]) {
        if (updatedAt >= until || present.has(imageRef)) continue;
        try {
          await this.#recordFiles.remove(imageRef);
          this.#records.delete(imageRef);
        } catch (error) {
          this.#logError("Failed to remove image pull record", { imageRef }, error);
        }
      }
    });
  }

  async #check(
    { image, imageRef }: PresentImage,
    credentials: () => Promise<readonly TrackedCredential[]>,
  ): Promise<CheckResult> {
    const known = this.#lookUp(image, imageRef);
    if (known === "unreadable") return "error";
    if (!this.#o.policy(image, known !== "preloaded")) return "credentialPolicyAllowed";
    const name = trimTagAndDigest(image);
    const access = typeof known === "object" && name !== undefined ? known.access.get(name) : undefined;
    if (!access) return "mustAuthenticate";
    const failure = checkAccess(access, podCredentials(dependsOnPod(access) ? await credentials() : []));
    if (!failure.allowed) return "mustAuthenticate";
    const { newSecret } = failure;
    if (newSecret) await this.#record({ image, imageRef }, { kubernetesSecrets: [newSecret] });
    return "credentialRecordFound";
  }

  #lookUp(image: string, imageRef: string): PulledRecord | "pulling" | "preloaded" | "unreadable" {
    try {
      if (!this.#loaded) throw new KubeletError("PullRecords", "the records have not been read yet");
      const record = this.#records.get(imageRef);
      if (record) return record;
      if (this.#broken.has(recordFileName(imageRef))) throw new Error("its record cannot be read");
      return this.#intents.has(image) ? "pulling" : "preloaded";
    } catch (error) {
      this.#logError("Failed to look up image pull record", { image, imageRef }, error);
      return "unreadable";
    }
  }

  /** "unknown" if the record could not be written. */
  #record(
    { image, imageRef }: PresentImage,
    access: ImagePullCredentials | undefined,
  ): Promise<"pulled" | "unknown"> {
    return this.#writes.run(async () => {
      try {
        const name = trimTagAndDigest(image);
        if (name === undefined) throw new Error(`invalid image name "${image}"`);
        const now = this.#o.clock.wall();
        const before = this.#records.get(imageRef);
        const record = before ?? {
          updatedAt: now,
          imageRef,
          access: new Map<string, ImagePullCredentials>(),
        };
        const after = access ? withAccess(record, name, access, now) : record;
        if (after !== before) await this.#recordFiles.write(after);
        this.#records.set(imageRef, after);
        this.#broken = without(this.#broken, recordFileName(imageRef));
        return "pulled";
      } catch (error) {
        this.#logError("Failed to write image pull record", { image, imageRef }, error);
        return "unknown";
      }
    });
  }

  async #load(): Promise<void> {
    try {
      this.#intents.load(await this.#intentFiles.read());
      const { values, broken } = await this.#recordFiles.read();
      for (const record of values) this.#records.set(record.imageRef, record);
      this.#broken = broken;
      this.#loaded = true;
    } catch (error) {
      const what = `records of image pulls in ${this.#o.rootDir} cannot be used: ${messageOf(error)}`;
      throw new KubeletError("PullRecords", what, { cause: error });
    }
  }

  /** Images whose pulls were interrupted by the end of a previous run are recorded without access for any pod. */
  async #settleIntents(signal: AbortSignal): Promise<void> {
    const unsettled = this.#intents.unsettled;
    if (unsettled.length === 0) return;
    try {
      for (const { id, repoTags, repoDigests } of await this.#o.images.listImages({ signal })) {
        const names = new Set([...repoTags, ...repoDigests].map(canonicalImage));
        for (const image of unsettled) {
          if (!names.has(canonicalImage(image))) continue;
          await this.recordPullEnded(image, await this.#record({ image, imageRef: id }, undefined));
        }
      }
    } catch (error) {
      // The intents are kept, with the same effect.
      this.#logError("Failed to settle image pull intents", {}, error);
    }
  }

  async #collectGarbage(signal: AbortSignal): Promise<void> {
    if (this.#records.size === 0) return;
    const until = this.#o.clock.wall();
    const images = await this.#o.images.listImages({ signal });
    await this.prune(
      images.map(({ id }) => id),
      until,
    );
  }

  #counts(): RecordCounts {
    return { intents: this.#intents.size, pulled: this.#records.size + this.#broken.size };
  }

  #logError(message: string, fields: Record<string, string>, error: unknown): void {
    this.#o.logger.error(message, { ...fields, err: messageOf(error) });
  }
}

function without(set: ReadonlySet<string>, item: string): ReadonlySet<string> {
  if (!set.has(item)) return set;
  return new Set([...set].filter((other) => other !== item));
}
