import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { whenAborted } from "../../../../lib/base/abort.ts";
import { type Clock, msFromNow } from "../../../../lib/base/clock.ts";
import type { Component, Health } from "../../../../lib/base/component.ts";
import { healthy } from "../../../../lib/base/component.ts";
import { messageOf, orNotFound } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import { type MonotonicTime, msBetween } from "../../../../lib/base/time.ts";
import { notFound, type ObjectOf } from "../api-object.ts";
import type { ObjectChange } from "../object-store.ts";
import { type ObjectKind, refKey } from "../objects-of.ts";
import type { ObjectListener } from "../pod-objects.ts";
import { decodeObjects, type FileProblem, type LocalObject } from "./decode-objects.ts";
import { type ObjectFile, readObjectFiles } from "./read-object-files.ts";

export interface LocalObjectsOptions {
  /** A directory of YAML or JSON files with ConfigMaps and Secrets. */
  dir: string;
  clock: Clock;
  logger: Logger;
  /** How often to rescan even without a notification. */
  rescanMs?: number;
  /** For tests. */
  watchDirectory?: (
    dir: string,
    onChange: () => void,
    onError: (error: unknown) => void,
  ) => { close(): void };
}

interface FileState {
  readonly text: string;
  readonly objects: readonly LocalObject[];
}

const defaultRescanMs = 20_000;
/** A write causes many notifications: one rescan for all of them. */
const quietMs = 50;
/** How long to wait for a process to close a file that it writes. */
const longestWriteMs = 10_000;
/** A directory that does not exist cannot be watched. */
const missingMs = 2000;

/** Secrets and ConfigMaps from files, for a node without an API server. Has the same interface as `PodObjects`. */
export class LocalObjects implements Component {
  readonly name = "local-objects";
  readonly #o: LocalObjectsOptions;
  readonly #files = new Map<string, FileState>();
  readonly #listeners = new Set<ObjectListener>();
  readonly #reported = new Map<string, string>();
  #objects = new Map<string, LocalObject>();
  readonly #writingSince = new Map<string, MonotonicTime>();
  #watched: { readonly identity: string; close(): void } | undefined;
  #timer: { readonly at: MonotonicTime; cancel(): void } | undefined;
  #scanning: Promise<void> = Promise.resolve();
  #directoryProblem: string | undefined;

  constructor(options: LocalObjectsOptions) {
    this.#o = options;
  }

  /** Resolves after the first scan, so that the objects are available to the first pod. */
  async start(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    whenAborted(signal, () => this.#stop());
    await this.#rescan(signal);
  }

  get done(): Promise<void> {
    return this.#scanning;
  }

  health(): Health {
    return this.#directoryProblem ? { ok: false, reason: this.#directoryProblem } : healthy;
  }

  /** All files are read in any case: nothing has to be fetched for a pod. */
  register(_pod: unknown): void {}
  unregister(_pod: unknown): void {}

  /** Fails with an error of status 404 (`httpStatusOf`) if there is no such object. */
  async get<K extends ObjectKind>(
    kind: K,
    namespace: string,
    name: string,
    _signal?: AbortSignal,
  ): Promise<ObjectOf<K>> {
    const found = this.#objects.get(refKey({ kind, namespace, name }));
    if (!found) throw notFound({ kind, namespace, name });
    return found.object as ObjectOf<K>;
  }

  find<K extends ObjectKind>(
    kind: K,
    namespace: string,
    name: string,
    signal?: AbortSignal,
  ): Promise<ObjectOf<K> | undefined> {
    return orNotFound(this.get(kind, namespace, name, signal));
  }

  onChange(listener: ObjectListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#unwatch();
  }

  #unwatch(): void {
    this.#watched?.close();
    this.#watched = undefined;
  }

  /** One scan at a time. */
  #rescan(signal: AbortSignal): Promise<void> {
    this.#scanning = this.#scanning.then(async () => {
      if (signal.aborted) return;
      // Watch before reading, so that no change is missed.
      await this.#watch(signal);
      const nextMs = await this.#read();
      if (signal.aborted) this.#stop();
      else this.#rescanIn(nextMs, signal);
    });
    return this.#scanning;
  }

  /** An earlier rescan that is already scheduled is kept. */
  #rescanIn(ms: number, signal: AbortSignal): void {
    const { clock } = this.#o;
    const at = msFromNow(clock, ms);
    if (this.#timer && this.#timer.at <= at) return;
    this.#timer?.cancel();
    const cancel = clock.after(ms, () => {
      this.#timer = undefined;
      void this.#rescan(signal);
    });
    this.#timer = { at, cancel };
  }

  /** The directory may have been replaced: watches the current one. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { dir, watchDirectory = inotify } = this.#o;
    const found = await stat(dir).catch(() => undefined);
    const identity = found && `${found.dev}:${found.ino}`;
    if (this.#watched?.identity === identity) return;
    this.#unwatch();
    if (!identity) return;
    const failed = (error: unknown) => {
      this.#unwatch();
      this.#report("watch", [{ message: `cannot be watched: ${messageOf(error)}` }], "warn");
    };
    try {
      const watcher = watchDirectory(dir, () => !signal.aborted && this.#rescanIn(quietMs, signal), failed);
      this.#watched = { identity, close: () => watcher.close() };
      this.#report("watch", [], "warn");
    } catch (error) {
      failed(error);
    }
  }

  /** Returns the delay of the next scan. */
  async #read(): Promise<number> {
    const { dir, rescanMs = defaultRescanMs } = this.#o;
    let found: ObjectFile[];
    try {
      found = await readObjectFiles(dir, (name) => this.#isOverdue(name));
      this.#directoryProblem = undefined;
    } catch (error) {
      // The directory may come back: its last objects are served in the meantime.
      this.#directoryProblem = `${dir}: ${messageOf(error)}`;
      this.#report("directory", [{ message: messageOf(error) }], "error");
      return Math.min(rescanMs, missingMs);
    }
    this.#report("directory", [], "error");
    const names = new Set(found.map(({ name }) => name));
    for (const name of [...this.#files.keys()]) if (!names.has(name)) this.#files.delete(name);
    for (const topic of [...this.#reported.keys()])
      if (topic.includes(".") && !names.has(topic)) this.#reported.delete(topic);
    const busy = new Set(found.filter((file) => "busy" in file).map(({ name }) => name));
    for (const name of [...this.#writingSince.keys()]) if (!busy.has(name)) this.#writingSince.delete(name);
    for (const file of found) this.#load(file);
    this.#mergeFiles();
    return busy.size > 0 ? quietMs : rescanMs;
  }

  #isOverdue(name: string): boolean {
    const now = this.#o.clock.monotonic();
    const since = this.#writingSince.get(name) ?? now;
    this.#writingSince.set(name, since);
    return msBetween(since, now) >= longestWriteMs;
  }

  /** The objects of a file that cannot be read are kept. */
  #load(file: ObjectFile): void {
    if ("busy" in file) return;
    if ("problem" in file) return this.#report(file.name, [{ message: file.problem }], "error");
    const known = this.#files.get(file.name);
    if (known?.text === file.text) return;
    const { objects, problems } = decodeObjects(file.text);
    this.#report(file.name, problems, "error");
    const decoded = new Set(objects.map(refKey));
    const kept = problems.length > 0 ? (known?.objects ?? []).filter((o) => !decoded.has(refKey(o))) : [];
    this.#files.set(file.name, { text: file.text, objects: [...objects, ...kept] });
  }

  /** If two files contain the same object, the first file by name is used. */
  #mergeFiles(): void {
    const before = this.#objects;
    const now = new Map<string, LocalObject>();
    const duplicates: string[] = [];
    const names = [...this.#files.keys()].sort((a, b) => (a < b ? -1 : 1));
    for (const name of names)
      for (const object of this.#files.get(name)?.objects ?? []) {
        const key = refKey(object);
        if (now.has(key))
          duplicates.push(`${name}:${object.line}: ${key} is defined more than once, this one is ignored`);
        else now.set(key, object);
      }
    this.#report(
      "twice",
      duplicates.map((message) => ({ message })),
      "warn",
    );
    this.#objects = now;
    for (const [key, { kind, namespace, name }] of before)
      if (!now.has(key)) this.#notify({ kind, namespace, name });
    for (const [key, { kind, namespace, name, object }] of now)
      if (before.get(key)?.object.metadata.resourceVersion !== object.metadata.resourceVersion)
        this.#notify({ kind, namespace, name, object });
  }

  #notify(change: ObjectChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch (error) {
        this.#o.logger.error("Failed to notify listener of object change", {
          object: refKey(change),
          err: messageOf(error),
        });
      }
    }
  }

  /** Logs each problem once, when it appears, and when a file no longer has any. */
  #report(topic: string, problems: readonly FileProblem[], level: "error" | "warn"): void {
    const { dir, logger } = this.#o;
    // A topic with an extension is a file. All others concern the directory.
    const file = topic.includes(".") ? join(dir, topic) : dir;
    const lines = problems.map((problem) => format(file, problem));
    const text = lines.join("\n");
    const reported = this.#reported.get(topic) ?? "";
    if (text === reported) return;
    if (text === "") {
      this.#reported.delete(topic);
      logger.info("Local objects file is valid again", { file });
      return;
    }
    this.#reported.set(topic, text);
    for (const line of lines) if (!reported.split("\n").includes(line)) logger[level](line, { file });
  }
}

function format(file: string, { line, field, message }: FileProblem): string {
  return `${file}${line ? `:${line}` : ""}: ${field ? `${field} ` : ""}${message}`;
}

function inotify(dir: string, onChange: () => void, onError: (error: unknown) => void): FSWatcher {
  const watcher = watch(dir, { encoding: "utf8" }, () => onChange());
  watcher.on("error", onError);
  return watcher;
}
