import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
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
import { type FoundFile, readFolder } from "./read-folder.ts";

export interface LocalObjectsOptions {
  /** A folder of YAML or JSON files with ConfigMaps and Secrets. */
  dir: string;
  clock: Clock;
  logger: Logger;
  /** How often to look even if nothing was heard of a change. */
  rescanMs?: number;
  /** For tests. */
  watchFolder?: (dir: string, onChange: () => void, onError: (error: unknown) => void) => { close(): void };
}

interface FileState {
  readonly text: string;
  readonly objects: readonly LocalObject[];
}

const defaultRescanMs = 20_000;
/** Who writes a file is heard of often: one look for all of it. */
const quietMs = 50;
/** A process that never closes its file is not waited for any longer. */
const longestWriteMs = 10_000;
/** Nothing tells when a folder that is missing appears. */
const missingMs = 2000;

/** Secrets and config maps of a node without an API server, from files. The same to its users as `PodObjects`. */
export class LocalObjects implements Component {
  readonly name = "local-objects";
  readonly #o: LocalObjectsOptions;
  readonly #files = new Map<string, FileState>();
  readonly #listeners = new Set<ObjectListener>();
  readonly #told = new Map<string, string>();
  #objects = new Map<string, LocalObject>();
  readonly #busySince = new Map<string, MonotonicTime>();
  #watched: { readonly identity: string; close(): void } | undefined;
  #timer: { readonly at: MonotonicTime; cancel(): void } | undefined;
  #looking: Promise<void> = Promise.resolve();
  #folderProblem: string | undefined;

  constructor(options: LocalObjectsOptions) {
    this.#o = options;
  }

  /** Resolves when the folder was read once: what is in it is there for the first pod. */
  async start(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    signal.addEventListener("abort", () => this.#stop(), { once: true });
    await this.#look(signal);
  }

  get done(): Promise<void> {
    return this.#looking;
  }

  health(): Health {
    return this.#folderProblem ? { ok: false, reason: this.#folderProblem } : healthy;
  }

  /** Whatever pods refer to is here or not: nothing has to be fetched for them. */
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

  /** One look at a time, in turn. */
  #look(signal: AbortSignal): Promise<void> {
    this.#looking = this.#looking.then(async () => {
      if (signal.aborted) return;
      // Before the look: what changes from then on is heard of.
      await this.#watch(signal);
      const nextMs = await this.#read();
      if (signal.aborted) this.#stop();
      else this.#lookIn(nextMs, signal);
    });
    return this.#looking;
  }

  /** An earlier look stands. */
  #lookIn(ms: number, signal: AbortSignal): void {
    const { clock } = this.#o;
    const at = msFromNow(clock, ms);
    if (this.#timer && this.#timer.at <= at) return;
    this.#timer?.cancel();
    const cancel = clock.after(ms, () => {
      this.#timer = undefined;
      void this.#look(signal);
    });
    this.#timer = { at, cancel };
  }

  /** On the folder that has the name now: it may be another than before. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { dir, watchFolder = inotify } = this.#o;
    const found = await stat(dir).catch(() => undefined);
    const identity = found && `${found.dev}:${found.ino}`;
    if (this.#watched?.identity === identity) return;
    this.#unwatch();
    if (!identity) return;
    const failed = (error: unknown) => {
      this.#unwatch();
      this.#say("watch", [{ message: `cannot be watched: ${messageOf(error)}` }], "warn");
    };
    try {
      const watcher = watchFolder(dir, () => !signal.aborted && this.#lookIn(quietMs, signal), failed);
      this.#watched = { identity, close: () => watcher.close() };
      this.#say("watch", [], "warn");
    } catch (error) {
      failed(error);
    }
  }

  /** When to look again. */
  async #read(): Promise<number> {
    const { dir, rescanMs = defaultRescanMs } = this.#o;
    let found: FoundFile[];
    try {
      found = await readFolder(dir, (name) => this.#isDue(name));
      this.#folderProblem = undefined;
    } catch (error) {
      // It may be about to come back; what was in it is served meanwhile.
      this.#folderProblem = `${dir}: ${messageOf(error)}`;
      this.#say("folder", [{ message: messageOf(error) }], "error");
      return Math.min(rescanMs, missingMs);
    }
    this.#say("folder", [], "error");
    const names = new Set(found.map(({ name }) => name));
    for (const name of [...this.#files.keys()]) if (!names.has(name)) this.#files.delete(name);
    for (const about of [...this.#told.keys()])
      if (about.includes(".") && !names.has(about)) this.#told.delete(about);
    const busy = new Set(found.filter((file) => "busy" in file).map(({ name }) => name));
    for (const name of [...this.#busySince.keys()]) if (!busy.has(name)) this.#busySince.delete(name);
    for (const file of found) this.#take(file);
    this.#settle();
    return busy.size > 0 ? quietMs : rescanMs;
  }

  #isDue(name: string): boolean {
    const now = this.#o.clock.monotonic();
    const since = this.#busySince.get(name) ?? now;
    this.#busySince.set(name, since);
    return msBetween(since, now) >= longestWriteMs;
  }

  /** The objects of a file that cannot be read stay as they were. */
  #take(file: FoundFile): void {
    if ("busy" in file) return;
    if ("problem" in file) return this.#say(file.name, [{ message: file.problem }], "error");
    const known = this.#files.get(file.name);
    if (known?.text === file.text) return;
    const { objects, problems } = decodeObjects(file.text);
    this.#say(file.name, problems, "error");
    const decoded = new Set(objects.map(refKey));
    const kept = problems.length > 0 ? (known?.objects ?? []).filter((o) => !decoded.has(refKey(o))) : [];
    this.#files.set(file.name, { text: file.text, objects: [...objects, ...kept] });
  }

  /** Of two objects with the same name that of the first file counts. */
  #settle(): void {
    const former = this.#objects;
    const now = new Map<string, LocalObject>();
    const twice: string[] = [];
    const names = [...this.#files.keys()].sort((a, b) => (a < b ? -1 : 1));
    for (const name of names)
      for (const object of this.#files.get(name)?.objects ?? []) {
        const key = refKey(object);
        if (now.has(key))
          twice.push(`${name}:${object.line}: ${key} is in the folder twice, this one is ignored`);
        else now.set(key, object);
      }
    this.#say(
      "twice",
      twice.map((message) => ({ message })),
      "warn",
    );
    this.#objects = now;
    for (const [key, { kind, namespace, name }] of former)
      if (!now.has(key)) this.#tell({ kind, namespace, name });
    for (const [key, { kind, namespace, name, object }] of now)
      if (former.get(key)?.object.metadata.resourceVersion !== object.metadata.resourceVersion)
        this.#tell({ kind, namespace, name, object });
  }

  #tell(change: ObjectChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch (error) {
        this.#o.logger.error("Listener of local objects failed", {
          object: refKey(change),
          err: messageOf(error),
        });
      }
    }
  }

  /** Each problem once: when it appears, and when all of a file's are gone. */
  #say(about: string, problems: readonly FileProblem[], level: "error" | "warn"): void {
    const { dir, logger } = this.#o;
    // Files have an extension; other topics are about the folder.
    const file = about.includes(".") ? join(dir, about) : dir;
    const lines = problems.map((problem) => format(file, problem));
    const text = lines.join("\n");
    const told = this.#told.get(about) ?? "";
    if (text === told) return;
    if (text === "") {
      this.#told.delete(about);
      logger.info("Local objects file is valid again", { file });
      return;
    }
    this.#told.set(about, text);
    for (const line of lines) if (!told.split("\n").includes(line)) logger[level](line, { file });
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
