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
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { inotifyDirectory, PathWatch, type WatchDirectory } from "./directory-watch.ts";
import { type FileState, podsOf, samePods } from "./file-set.ts";
import { decodeManifest } from "./manifest.ts";
import { ProblemLog } from "./problem-log.ts";
import { readManifestFile } from "./read-file.ts";
import type { PodSource, SourceProblem } from "./source.ts";
import { WakeTimer } from "./wake-timer.ts";

export interface FileSourceOptions {
  /** staticPodPath: a manifest, or a folder of them. */
  path: string;
  nodeName: string;
  /** fileCheckFrequency: how often to look even if nothing was heard of a change. */
  rescanMs: number;
  clock: Clock;
  logger: Logger;
  allowApiReferences?: boolean;
  hasLocalObjects?: boolean;
  watchDirectory?: WatchDirectory;
  isOpenForWriting?: (fd: number) => boolean | undefined;
}

/** A file counts as written when nothing was heard of it for so long, … */
const quietMs = 30;
/** … and no process has it open for writing, but for a process that never closes it. */
const longestWriteMs = 10_000;
/** How often to look for a path that does not exist. */
const missingMs = 1_000;

/** Pods from manifest files. A pod ends when its file is removed, never because its file is broken. */
export class FileSource implements PodSource {
  readonly name = "file";
  readonly done: Promise<void>;
  #end: () => void = () => {};
  #options: FileSourceOptions;
  #path: string;
  #timer: WakeTimer;
  #log: ProblemLog;
  #watch: PathWatch;
  #files = new Map<string, FileState>();
  /** When something was last heard of a file, until it is judged. */
  #heard = new Map<string, MonotonicTime>();
  /** Since when a file is in one and the same state, held open by its writer. */
  #heldOpen = new Map<string, { stamp: string; since: MonotonicTime }>();
  /** Known files that were deleted, until it is seen what is there now. */
  #deleted = new Set<string>();
  /** Pods whose file was deleted and written again since the last set. */
  #ended = new Set<PodUid>();
  #isDirectory: boolean = false as boolean;
  #emitted: Pod[] | undefined;
  #problems: SourceProblem[] = [];
  #trouble: string | undefined;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#path = resolve(options.path);
    this.#timer = new WakeTimer(options.clock);
    this.#log = new ProblemLog(options.logger);
    this.done = new Promise((ended) => {
      this.#end = ended;
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
    const begun = this.#options.clock.monotonic();
    await this.#look(emit, begun);
    void this.#loop(signal, emit, begun).finally(() => this.#end());
  }

  health(): Health {
    return this.#trouble === undefined ? healthy : { ok: false, reason: this.#trouble };
  }

  /** All that is wrong with manifests now, for people. */
  problems(): SourceProblem[] {
    return [...this.#problems];
  }

  async #loop(signal: AbortSignal, emit: (pods: Pod[]) => void, begun: MonotonicTime): Promise<void> {
    while (!signal.aborted) {
      this.#timer.request(this.#options.rescanMs);
      await this.#timer.wait(signal);
      if (!signal.aborted) await this.#look(emit, begun);
    }
    this.#watch.close();
  }

  #onChange(name: string | undefined): void {
    if (name !== undefined && isManifestName(name))
      this.#heard.set(
        this.#isDirectory ? join(this.#path, name) : this.#path,
        this.#options.clock.monotonic(),
      );
    this.#timer.request(quietMs);
  }

  /** Looks at all files and tells what became of them. */
  async #look(emit: (pods: Pod[]) => void, begun: MonotonicTime): Promise<void> {
    await this.#watch.renew();
    const files = await this.#list();
    if (!files) return; // cannot tell: what was is still wanted
    this.#noteDeleted();
    let unsettled = false;
    for (const file of new Set([...this.#files.keys(), ...this.#heard.keys(), ...files]))
      if (!(await this.#settle(file, files.has(file)))) unsettled = true;
    if (unsettled) this.#timer.request(quietMs);

    const { pods, conflicts } = podsOf(this.#files);
    const states = [...this.#files.values()];
    this.#problems = [...states.flatMap((state) => state.problems), ...conflicts];
    this.#log.update(
      this.#problems,
      states.flatMap((state) => state.warnings),
    );
    // The first set decides which pods of an earlier run are still wanted: a file being written could be one of them.
    const tooEarly = !this.#emitted && unsettled && msSince(this.#options.clock, begun) < longestWriteMs;
    if (tooEarly) return;
    this.#emitEnded(pods, emit);
    if (samePods(this.#emitted, pods)) return;
    this.#emitted = pods;
    emit([...pods]);
  }

  /** A pod whose file was deleted and written again has ended, also if it is wanted again with the same UID. */
  #emitEnded(pods: readonly Pod[], emit: (pods: Pod[]) => void): void {
    const again = new Set(pods.map((pod) => pod.metadata.uid).filter((uid) => this.#ended.has(uid)));
    this.#ended.clear();
    const left = this.#emitted?.filter((pod) => !again.has(pod.metadata.uid)) ?? [];
    if (left.length === (this.#emitted?.length ?? 0)) return;
    this.#emitted = left;
    emit([...left]);
  }

  #noteDeleted(): void {
    for (const name of this.#watch.takeDeleted()) {
      const file = this.#isDirectory ? join(this.#path, name) : this.#path;
      if (this.#files.has(file)) this.#deleted.add(file);
    }
  }

  /** Brings one file up to date. False if it is just being changed. */
  async #settle(file: string, present: boolean): Promise<boolean> {
    const { clock } = this.#options;
    const heard = this.#heard.get(file);
    if (heard !== undefined && msSince(clock, heard) < quietMs) return false;
    if (!present) return this.#forget(file);
    const isRecreated = this.#deleted.has(file);
    // Heard of it: read it even if it looks the same.
    const known = heard === undefined && !isRecreated ? this.#files.get(file)?.stamp : undefined;
    const held = this.#heldOpen.get(file);
    const read = await readManifestFile(file, {
      ...(known !== undefined && { known }),
      isOpenForWriting: this.#options.isOpenForWriting ?? isOpenForWriting,
      evenIfOpen: held !== undefined && msSince(clock, held.since) >= longestWriteMs,
    });
    this.#noteDeleted();
    // Deleted only now: what was read may be what was there before or what came after.
    if (this.#deleted.has(file) && !isRecreated) return false;
    if (isRecreated && (read.kind === "content" || read.kind === "refused")) this.#endPodOf(file);
    const state = this.#files.get(file);
    switch (read.kind) {
      case "busy":
        if (held?.stamp !== read.stamp)
          this.#heldOpen.set(file, { stamp: read.stamp, since: clock.monotonic() });
        return false;
      case "gone":
        return this.#forget(file);
      case "refused":
        this.#judge(file, read.stamp, undefined, { problems: [{ file, message: read.message }] });
        break;
      case "content": {
        const digest = createHash("sha1").update(read.bytes).digest("base64");
        if (state?.digest === digest) state.stamp = read.stamp;
        else this.#judge(file, read.stamp, digest, this.#decode(file, read.bytes));
        break;
      }
      case "unchanged":
        break;
      default:
        read satisfies never;
    }
    if (this.#heard.get(file) === heard) this.#heard.delete(file);
    this.#heldOpen.delete(file);
    return true;
  }

  #decode(file: string, bytes: Uint8Array): ReturnType<typeof decodeManifest> {
    const { nodeName, allowApiReferences = false, hasLocalObjects = false } = this.#options;
    try {
      const origin = { source: "file", path: file } as const;
      return decodeManifest(bytes, { nodeName, allowApiReferences, hasLocalObjects, origin });
    } catch (error) {
      // A gap in our checks must not stop the other pods.
      return { problems: [{ file, message: `cannot be understood: ${messageOf(error)}` }] };
    }
  }

  #judge(
    file: string,
    stamp: string,
    digest: string | undefined,
    result: ReturnType<typeof decodeManifest>,
  ): void {
    const before = this.#files.get(file);
    if ("problems" in result) {
      const kept = before?.pod ? "; its pod keeps running as it was" : "";
      const problems = result.problems.map((p) => ({ ...p, message: p.message + kept }));
      this.#files.set(file, { stamp, digest, pod: before?.pod, problems, warnings: [] });
      return;
    }
    const [pod] = result.pods;
    // The same pod, written differently, is not news.
    const same = isDeepStrictEqual(before?.pod, pod);
    this.#files.set(file, {
      stamp,
      digest,
      pod: same ? before?.pod : pod,
      problems: [],
      warnings: result.warnings,
    });
  }

  /** Whatever the file has now is another pod, or none. */
  #endPodOf(file: string): void {
    const uid = this.#files.get(file)?.pod?.metadata.uid;
    if (uid !== undefined) this.#ended.add(uid);
    this.#files.delete(file);
    this.#deleted.delete(file);
  }

  #forget(file: string): true {
    this.#files.delete(file);
    this.#deleted.delete(file);
    this.#heard.delete(file);
    this.#heldOpen.delete(file);
    return true;
  }

  /** The files to read; undefined if that cannot be told. */
  async #list(): Promise<Set<string> | undefined> {
    try {
      const found = await stat(this.#path);
      this.#isDirectory = found.isDirectory();
      if (!this.#isDirectory) {
        this.#setTrouble(undefined);
        return new Set([this.#path]);
      }
      const names = await readdir(this.#path);
      this.#setTrouble(undefined);
      return new Set(names.filter(isManifestName).map((name) => join(this.#path, name)));
    } catch (error) {
      if (errnoOf(error) === "ENOENT") {
        this.#setTrouble(undefined);
        this.#timer.request(Math.min(missingMs, this.#options.rescanMs));
        return new Set();
      }
      this.#setTrouble(`cannot read ${this.#path}: ${messageOf(error)}`);
      return undefined;
    }
  }

  #setTrouble(trouble: string | undefined): void {
    if (trouble !== undefined && trouble !== this.#trouble)
      this.#options.logger.error(trouble, { path: this.#path });
    this.#trouble = trouble;
  }
}

/** Not hidden, and not what an editor leaves beside a file while it saves it. */
function isManifestName(name: string): boolean {
  return !name.startsWith(".") && !name.endsWith("~") && !/^#.*#$/.test(name);
}
