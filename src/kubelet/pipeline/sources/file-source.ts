import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { type Health, healthy } from "../../../lib/base/component.ts";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { isOpenForWriting } from "../../../lib/host/open-for-writing.ts";
import { reportDuplicate } from "../../../lib/model/duplicate-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { ManifestRules } from "../../../lib/model/static-pod.ts";
import { inotifyDirectory, PathWatch, type WatchDirectory } from "./directory-watch.ts";
import { type FileState, podsOf, samePods } from "./file-set.ts";
import { decodeManifest } from "./manifest.ts";
import { ProblemLog } from "./problem-log.ts";
import { readManifestFile } from "./read-file.ts";
import type { PodSource, SourceProblem } from "./source.ts";
import { WakeTimer } from "./wake-timer.ts";

export interface FileSourceOptions extends ManifestRules {
  /** staticPodPath: a manifest, or a directory of them. */
  path: string;
  nodeName: string;
  /** fileCheckFrequency: how often to rescan even if no change was reported. */
  rescanMs: number;
  clock: Clock;
  logger: Logger;
  watchDirectory?: WatchDirectory;
  isOpenForWriting?: (fd: number) => boolean | undefined;
  /** For pods that do not run because another file defines one of their name or UID: one event for each. */
  events?: Pick<PodEvents, "warning"> | undefined;
}

/** A file is treated as written when no change was reported for this long, … */
const quietMs = 30;
/** … and no process has it open for writing; a process that never closes it is ignored after this time. */
const maxWriteMs = 10_000;
/** How often to check for a path that does not exist. */
const missingPathMs = 1_000;

/** Pods from manifest files. A pod is removed when its file is, never because its file is invalid. */
export class FileSource implements PodSource {
  readonly name = "file";
  readonly done: Promise<void>;
  #resolveDone: () => void = () => {};
  /** Duplicates that were reported. */
  readonly #duplicates = new WeakSet<Pod>();
  #options: FileSourceOptions;
  #path: string;
  #timer: WakeTimer;
  #log: ProblemLog;
  #watch: PathWatch;
  #files = new Map<string, FileState>();
  /** When a change to a file was last reported, until it is read. */
  #reportedAt = new Map<string, MonotonicTime>();
  /** The last change of each file that is open for writing. */
  #openForWriting = new Map<string, { stamp: string; since: MonotonicTime }>();
  /** Known files that were deleted, until their path is read again. */
  #deleted = new Set<string>();
  /** Pods whose file was deleted and written again since the last set. */
  #recreated = new Set<PodUid>();
  #isDirectory: boolean = false as boolean;
  #emitted: Pod[] | undefined;
  #problems: SourceProblem[] = [];
  #failure: string | undefined;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#path = resolve(options.path);
    this.#timer = new WakeTimer(options.clock);
    this.#log = new ProblemLog(options.logger);
    this.done = new Promise((ended) => {
      this.#resolveDone = ended;
    });
    this.#watch = new PathWatch(
      this.#path,
      options.watchDirectory ?? inotifyDirectory,
      (name) => this.#onChange(name),
      (error) =>
        options.logger.warn("Failed to watch manifest directory, relying on periodic rescan", {
          path: this.#path,
          err: messageOf(error),
        }),
    );
  }

  async start(signal: AbortSignal, emit: (pods: Pod[]) => void): Promise<void> {
    const startedAt = this.#options.clock.monotonic();
    await this.#scan(emit, startedAt);
    void this.#loop(signal, emit, startedAt).finally(() => this.#resolveDone());
  }

  health(): Health {
    return this.#failure === undefined ? healthy : { ok: false, reason: this.#failure };
  }

  /** The current problems of the manifests, for users. */
  problems(): SourceProblem[] {
    return [...this.#problems];
  }

  async #loop(signal: AbortSignal, emit: (pods: Pod[]) => void, startedAt: MonotonicTime): Promise<void> {
    while (!signal.aborted) {
      this.#timer.request(this.#options.rescanMs);
      await this.#timer.wait(signal);
      if (!signal.aborted) await this.#scan(emit, startedAt);
    }
    this.#watch.close();
  }

  #onChange(name: string | undefined): void {
    if (name !== undefined && isManifestName(name))
      this.#reportedAt.set(
        this.#isDirectory ? join(this.#path, name) : this.#path,
        this.#options.clock.monotonic(),
      );
    this.#timer.request(quietMs);
  }

  /** Reads all files that have changed and emits the result. */
  async #scan(emit: (pods: Pod[]) => void, startedAt: MonotonicTime): Promise<void> {
    await this.#watch.renew();
    const files = await this.#list();
    if (!files) return; // unknown: the last set is kept
    this.#collectDeleted();
    let isChanging = false;
    for (const file of new Set([...this.#files.keys(), ...this.#reportedAt.keys(), ...files]))
      if (!(await this.#update(file, files.has(file)))) isChanging = true;
    if (isChanging) this.#timer.request(quietMs);

    const { pods, conflicts, duplicates } = podsOf(this.#files);
    for (const pod of duplicates) {
      if (!this.#duplicates.has(pod)) reportDuplicate(this.#options.events, pod, this.name);
      this.#duplicates.add(pod);
    }
    const states = [...this.#files.values()];
    this.#problems = [...states.flatMap((state) => state.problems), ...conflicts];
    this.#log.update(
      this.#problems,
      states.flatMap((state) => state.warnings),
    );
    // The first set decides which pods of an earlier run are orphans: a file that is being written may define one of them.
    const isTooEarly = !this.#emitted && isChanging && msSince(this.#options.clock, startedAt) < maxWriteMs;
    if (isTooEarly) return;
    this.#emitRemoved(pods, emit);
    if (samePods(this.#emitted, pods)) return;
    this.#emitted = pods;
    emit([...pods]);
  }

  /** A pod whose file was deleted and written again is removed first, even if it is desired again with the same UID. */
  #emitRemoved(pods: readonly Pod[], emit: (pods: Pod[]) => void): void {
    const again = new Set(pods.map((pod) => pod.metadata.uid).filter((uid) => this.#recreated.has(uid)));
    this.#recreated.clear();
    const left = this.#emitted?.filter((pod) => !again.has(pod.metadata.uid)) ?? [];
    if (left.length === (this.#emitted?.length ?? 0)) return;
    this.#emitted = left;
    emit([...left]);
  }

  #collectDeleted(): void {
    for (const name of this.#watch.takeDeleted()) {
      const file = this.#isDirectory ? join(this.#path, name) : this.#path;
      if (this.#files.has(file)) this.#deleted.add(file);
    }
  }

  /** Updates the state of one file. False if it is being changed. */
  async #update(file: string, present: boolean): Promise<boolean> {
    const { clock } = this.#options;
    const reportedAt = this.#reportedAt.get(file);
    if (reportedAt !== undefined && msSince(clock, reportedAt) < quietMs) return false;
    if (!present) return this.#drop(file);
    const isRecreated = this.#deleted.has(file);
    // After a reported change, read it even if its stamp is the same.
    const known = reportedAt === undefined && !isRecreated ? this.#files.get(file)?.stamp : undefined;
    const open = this.#openForWriting.get(file);
    const read = await readManifestFile(file, {
      ...(known !== undefined && { known }),
      isOpenForWriting: this.#options.isOpenForWriting ?? isOpenForWriting,
      evenIfOpen: open !== undefined && msSince(clock, open.since) >= maxWriteMs,
    });
    this.#collectDeleted();
    // Deleted just now: the content may be from before or after the deletion.
    if (this.#deleted.has(file) && !isRecreated) return false;
    if (isRecreated && (read.kind === "content" || read.kind === "rejected")) this.#dropRecreated(file);
    const state = this.#files.get(file);
    switch (read.kind) {
      case "busy":
        if (open?.stamp !== read.stamp)
          this.#openForWriting.set(file, { stamp: read.stamp, since: clock.monotonic() });
        return false;
      case "gone":
        return this.#drop(file);
      case "rejected":
        this.#record(file, read.stamp, undefined, { problems: [{ file, message: read.message }] });
        break;
      case "content": {
        const digest = createHash("sha1").update(read.bytes).digest("base64");
        if (state?.digest === digest) state.stamp = read.stamp;
        else this.#record(file, read.stamp, digest, this.#decode(file, read.bytes));
        break;
      }
      case "unchanged":
        break;
      default:
        read satisfies never;
    }
    if (this.#reportedAt.get(file) === reportedAt) this.#reportedAt.delete(file);
    this.#openForWriting.delete(file);
    return true;
  }

  #decode(file: string, bytes: Uint8Array): ReturnType<typeof decodeManifest> {
    try {
      return decodeManifest(bytes, { ...this.#options, origin: { source: "file", path: file } });
    } catch (error) {
      // A bug in the validation must not affect the other pods.
      return { problems: [{ file, message: `cannot be decoded: ${messageOf(error)}` }] };
    }
  }

  #record(
    file: string,
    stamp: string,
    digest: string | undefined,
    result: ReturnType<typeof decodeManifest>,
  ): void {
    const previous = this.#files.get(file);
    if ("problems" in result) {
      const kept = previous?.pod ? "; its pod keeps running unchanged" : "";
      const problems = result.problems.map((p) => ({ ...p, message: p.message + kept }));
      this.#files.set(file, { stamp, digest, pod: previous?.pod, problems, warnings: [] });
      return;
    }
    const [pod] = result.pods;
    // The same pod, written differently, is not a change.
    const same = isDeepStrictEqual(previous?.pod, pod);
    this.#files.set(file, {
      stamp,
      digest,
      pod: same ? previous?.pod : pod,
      problems: [],
      warnings: result.warnings,
    });
  }

  /** The file was deleted. A file of that name now has another pod, or none. */
  #dropRecreated(file: string): void {
    const uid = this.#files.get(file)?.pod?.metadata.uid;
    if (uid !== undefined) this.#recreated.add(uid);
    this.#files.delete(file);
    this.#deleted.delete(file);
  }

  #drop(file: string): true {
    this.#files.delete(file);
    this.#deleted.delete(file);
    this.#reportedAt.delete(file);
    this.#openForWriting.delete(file);
    return true;
  }

  /** The files to read; undefined if they cannot be listed. */
  async #list(): Promise<Set<string> | undefined> {
    try {
      const found = await stat(this.#path);
      this.#isDirectory = found.isDirectory();
      if (!this.#isDirectory) {
        this.#setFailure(undefined);
        return new Set([this.#path]);
      }
      const names = await readdir(this.#path);
      this.#setFailure(undefined);
      return new Set(names.filter(isManifestName).map((name) => join(this.#path, name)));
    } catch (error) {
      if (errnoOf(error) === "ENOENT") {
        this.#setFailure(undefined);
        this.#timer.request(Math.min(missingPathMs, this.#options.rescanMs));
        return new Set();
      }
      this.#setFailure(`cannot read ${this.#path}: ${messageOf(error)}`);
      return undefined;
    }
  }

  #setFailure(failure: string | undefined): void {
    if (failure !== undefined && failure !== this.#failure)
      this.#options.logger.error(failure, { path: this.#path });
    this.#failure = failure;
  }
}

/** True unless the file is hidden or a temporary file of an editor. */
function isManifestName(name: string): boolean {
  return !name.startsWith(".") && !name.endsWith("~") && !/^#.*#$/.test(name);
}
