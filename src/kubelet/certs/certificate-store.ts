import { lstat, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Clock } from "../../lib/base/clock.ts";
import { errnoOf, KubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { dateOf, type WallTime } from "../../lib/base/time.ts";
import { syncDir, writeDurably } from "../../lib/host/durable-file.ts";
import { type CertificatePair, readPair } from "./certificate-pair.ts";

/** Where a manager stores its pair. */
export interface PairStore {
  /** The last stored pair; undefined if there is no usable one. */
  current(): Promise<CertificatePair | undefined>;
  update(cert: string, key: string): Promise<CertificatePair>;
}

export interface CertificateStoreOptions {
  /** "kubelet-client" or "kubelet-server". */
  readonly prefix: string;
  readonly dir: string;
  /** Used as long as the store has no pair. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Pairs in files `<prefix>-<time>.pem`, and a link `<prefix>-current.pem` to the one in use. A file is
 * complete before anything refers to it, and the link is replaced atomically.
 */
export class CertificateStore implements PairStore {
  readonly #o: CertificateStoreOptions;
  readonly currentPath: string;
  readonly #updatedPath: string;

  constructor(options: CertificateStoreOptions) {
    this.#o = options;
    this.currentPath = resolve(options.dir, `${options.prefix}-current.pem`);
    this.#updatedPath = resolve(options.dir, `${options.prefix}-updated.pem`);
  }

  /** Whether the store has a pair, usable or not. */
  async hasOwn(): Promise<boolean> {
    await this.#recover();
    return exists(this.currentPath);
  }

  async current(): Promise<CertificatePair | undefined> {
    await this.#recover();
    const files = await this.#files();
    if (files === undefined) return undefined;
    const [certFile, keyFile] = files;
    try {
      return readPair(await readFile(certFile, "utf8"), await readFile(keyFile, "utf8"));
    } catch (error) {
      this.#o.logger.error("Failed to load certificate and key, requesting a new certificate", {
        certFile,
        keyFile,
        err: messageOf(error),
      });
      return undefined;
    }
  }

  async update(cert: string, key: string): Promise<CertificatePair> {
    const pair = readPair(cert, key);
    await this.#mustBeLink(this.currentPath);
    await this.#mustBeLink(this.#updatedPath);
    const path = resolve(this.#o.dir, `${this.#o.prefix}-${timestamp(this.#o.clock.wall())}.pem`);
    await writeDurably(path, pair.cert + pair.key, 0o600, resolve(this.#o.dir, `${this.#o.prefix}.pem.new`));
    await rm(this.#updatedPath, { force: true });
    await symlink(path, this.#updatedPath);
    await rename(this.#updatedPath, this.currentPath);
    await syncDir(this.#o.dir);
    return pair;
  }

  /** A kubelet that removes the old link before it creates the new one may have been stopped in between. */
  async #recover(): Promise<void> {
    if (await exists(this.currentPath)) return;
    if (!(await exists(this.#updatedPath))) return;
    await this.#mustBeLink(this.#updatedPath);
    await rename(this.#updatedPath, this.currentPath);
  }

  /** The files of the first existing pair. */
  async #files(): Promise<readonly [string, string] | undefined> {
    const { prefix, dir, certFile = "", keyFile = "" } = this.#o;
    const candidates = [
      [this.currentPath, this.currentPath],
      [certFile, keyFile],
      [join(dir, `${prefix}.crt`), join(dir, `${prefix}.key`)],
    ] as const;
    for (const candidate of candidates) {
      if ((await exists(candidate[0])) && (await exists(candidate[1]))) return candidate;
    }
    return undefined;
  }

  /** A file of other origin is not replaced. */
  async #mustBeLink(path: string): Promise<void> {
    try {
      if ((await lstat(path)).isSymbolicLink()) return;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return;
      throw error;
    }
    throw new KubeletError("CertificateStore", `expected "${path}" to be a symlink but it is a file`);
  }
}

async function exists(path: string): Promise<boolean> {
  if (path === "") return false;
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return false;
    throw error;
  }
}

/** 2026-01-31-13-45-00, in local time. */
function timestamp(now: WallTime): string {
  const date = dateOf(now);
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return [...parts, ...time].map((part) => String(part).padStart(2, "0")).join("-");
}
