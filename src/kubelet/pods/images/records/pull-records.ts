import { join } from "node:path";
import type { Clock } from "../../../../lib/base/clock.ts";
import type { Component } from "../../../../lib/base/component.ts";
import { KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { ConcurrencyGate } from "../../../../lib/base/gate.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { createMetrics, type Metrics } from "../../../../lib/base/metrics.ts";
import { runPeriodically } from "../../../../lib/base/run-periodically.ts";
import type { WallTime } from "../../../../lib/base/time.ts";
import type { ImageService } from "../../../../lib/clients/cri/cri.ts";
import type { TrackedCredential } from "../tracked-credential.ts";
import { withAccess } from "./merge-access.ts";
import { accessBy, checkAccess, dependsOnPod, podCredentials } from "./pod-access.ts";
import { canonicalImage, type PullEnd, PullIntents } from "./pull-intents.ts";
import {
  decodeIntent,
  decodeRecord,
  encodeIntent,
  encodeRecord,
  type PullAccess,
  type PulledRecord,
  type PullIntent,
} from "./pull-record.ts";
import { RecordFiles, recordFileName } from "./record-files.ts";
import { type CheckResult, type RecordCounts, type RecordMetrics, recordMetrics } from "./record-metrics.ts";
import { nameOnly, type VerificationPolicy } from "./verification-policy.ts";

export interface PullRecordsOptions {
  rootDir: string;
  policy: VerificationPolicy;
  images: Pick<ImageService, "listImages">;
  clock: Clock;
  logger: Logger;
  metrics?: Metrics;
  /** How many records are thought to be many, for the metrics. */
  expected?: RecordCounts;
}

/** An image that is here, as a pod asks for it. */
export interface PresentImage {
  /** As the pod has it. */
  readonly image: string;
  readonly imageRef: string;
}

const sweepEveryMs = 5 * 60_000;

/** Remembers, also past its own end, which images it pulled and with what, and says who may use them. */
export class PullRecords implements Component {
  readonly name = "pull-records";
  readonly #o: PullRecordsOptions;
  readonly #metrics: RecordMetrics;
  readonly #intents: PullIntents;
  readonly #intentFiles: RecordFiles<PullIntent>;
  readonly #recordFiles: RecordFiles<PulledRecord>;
  /** One writer at a time: what is on disk and what is in memory change together. */
  readonly #turns = new ConcurrencyGate(1);
  readonly #records = new Map<string, PulledRecord>();
  #broken: ReadonlySet<string> = new Set();
  #loaded = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: PullRecordsOptions) {
    this.#o = options;
    const { logger, metrics = createMetrics(), expected = { intents: 220, pulled: 550 } } = options;
    this.#intentFiles = new RecordFiles<PullIntent>({
      folder: join(options.rootDir, "image_manager", "pulling"),
      encode: encodeIntent,
      decode: decodeIntent,
      subjectOf: (intent) => intent.image,
      logger,
    });
    this.#recordFiles = new RecordFiles<PulledRecord>({
      folder: join(options.rootDir, "image_manager", "pulled"),
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

  /** Resolves when all that a former life knew is known: before any pod may ask. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    await this.#load();
    await this.#settleIntents(signal);
    this.#loop = runPeriodically(() => this.#sweep(signal), {
      clock,
      everyMs: sweepEveryMs,
      signal,
      onError: (error) =>
        logger.warn("Failed to garbage collect image pull records", { err: messageOf(error) }),
    });
  }

  /** Before a pull of the image (as the pod has it). Each has to be followed by one `pulled` or `ended`. */
  begin(image: string): Promise<void> {
    return this.#turns.run(async () => {
      try {
        await this.#intents.begin(image);
      } catch (error) {
        const what = `Failed to record image pull intent for container image "${image}"`;
        throw new KubeletError("ErrImagePull", `${what}: ${messageOf(error)}`, { cause: error });
      }
    });
  }

  /** The image has come, with this credential, or without any. */
  async pulled({ image, imageRef }: PresentImage, credential: TrackedCredential | undefined): Promise<void> {
    const how = await this.#note({ image, imageRef }, accessBy(credential));
    // One that could not be noted stays begun: so it is still known to be pulled.
    await this.ended(image, how);
  }

  /** The pull did not succeed, or nobody knows whether it did. */
  ended(image: string, how: PullEnd): Promise<void> {
    return this.#turns.run(() =>
      this.#intents
        .end(image, how)
        .catch((error) => this.#lament("A pull stays recorded as begun", { image }, error)),
    );
  }

  /** Whether the pod has to pull the image again to show that it may. What it can show is only asked for if it matters. */
  async mustPull(
    present: PresentImage,
    credentials: () => Promise<readonly TrackedCredential[]>,
  ): Promise<boolean> {
    let result: CheckResult = "error";
    try {
      result = await this.#check(present, credentials);
    } finally {
      this.#metrics.checked(result);
    }
    return result === "mustAuthenticate" || result === "error";
  }

  /** Forgets images that are not among these, unless they were noted after `until`: a time before these were asked for. */
  prune(imageRefs: Iterable<string>, until: WallTime): Promise<void> {
    const present = new Set(imageRefs);
    return this.#turns.run(async () => {
      for (const { imageRef, updatedAt } of [...this.#records.values()]) {
        if (updatedAt >= until || present.has(imageRef)) continue;
        try {
          await this.#recordFiles.remove(imageRef);
          this.#records.delete(imageRef);
        } catch (error) {
          this.#lament("The record of an image that is gone stays", { imageRef }, error);
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
    if (!this.#o.policy(image, known !== "not ours")) return "credentialPolicyAllowed";
    const name = nameOnly(image);
    const access = typeof known === "object" && name !== undefined ? known.access.get(name) : undefined;
    if (!access) return "mustAuthenticate";
    const verdict = checkAccess(access, podCredentials(dependsOnPod(access) ? await credentials() : []));
    if (!verdict.allowed) return "mustAuthenticate";
    const { learned } = verdict;
    if (learned) await this.#note({ image, imageRef }, { kubernetesSecrets: [learned] });
    return "credentialRecordFound";
  }

  #lookUp(image: string, imageRef: string): PulledRecord | "begun" | "not ours" | "unreadable" {
    try {
      if (!this.#loaded) throw new KubeletError("PullRecords", "the records have not been read yet");
      const record = this.#records.get(imageRef);
      if (record) return record;
      if (this.#broken.has(recordFileName(imageRef))) throw new Error("its record cannot be read");
      return this.#intents.has(image) ? "begun" : "not ours";
    } catch (error) {
      this.#lament("It is not known how an image came here", { image, imageRef }, error);
      return "unreadable";
    }
  }

  /** Says whether it could be noted. */
  #note({ image, imageRef }: PresentImage, access: PullAccess | undefined): Promise<"pulled" | "unknown"> {
    return this.#turns.run(async () => {
      try {
        const name = nameOnly(image);
        if (name === undefined) throw new Error(`invalid image name "${image}"`);
        const now = this.#o.clock.wall();
        const before = this.#records.get(imageRef);
        const record = before ?? { updatedAt: now, imageRef, access: new Map<string, PullAccess>() };
        const after = access ? withAccess(record, name, access, now) : record;
        if (after !== before) await this.#recordFiles.write(after);
        this.#records.set(imageRef, after);
        this.#broken = without(this.#broken, recordFileName(imageRef));
        return "pulled";
      } catch (error) {
        this.#lament("A pulled image could not be recorded", { image, imageRef }, error);
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

  /** Pulls whose end a former life did not see: their images are ours, and who may use them is not known. */
  async #settleIntents(signal: AbortSignal): Promise<void> {
    const begun = this.#intents.unsettled;
    if (begun.length === 0) return;
    try {
      for (const { id, repoTags, repoDigests } of await this.#o.images.listImages({ signal })) {
        const names = new Set([...repoTags, ...repoDigests].map(canonicalImage));
        for (const image of begun) {
          if (!names.has(canonicalImage(image))) continue;
          await this.ended(image, await this.#note({ image, imageRef: id }, undefined));
        }
      }
    } catch (error) {
      // They stay begun, which serves as well.
      this.#lament("Pulls of a former life were not settled", {}, error);
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
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

  #lament(message: string, fields: Record<string, string>, error: unknown): void {
    this.#o.logger.error(message, { ...fields, err: messageOf(error) });
  }
}

function without(set: ReadonlySet<string>, item: string): ReadonlySet<string> {
  if (!set.has(item)) return set;
  return new Set([...set].filter((other) => other !== item));
}
