import { KubeletError } from "../../lib/base/errors.ts";
import type { ObjectKey } from "./object.ts";

/** HTTP status and Status reason of each code. */
const apiStatuses = {
  AlreadyExists: { status: 409, reason: "AlreadyExists" },
  Conflict: { status: 409, reason: "Conflict" },
  NotFound: { status: 404, reason: "NotFound" },
  Expired: { status: 410, reason: "Expired" },
  /** A version that this store has not reached; reported with the cause "ResourceVersionTooLarge". */
  FutureVersion: { status: 504, reason: "Timeout" },
  BadRequest: { status: 400, reason: "BadRequest" },
  /** The disk write failed. Nothing of the write is kept. */
  StorageFailed: { status: 500, reason: "InternalError" },
  Closed: { status: 503, reason: "ServiceUnavailable" },
} as const;

export type StoreErrorCode = keyof typeof apiStatuses;

export interface StoreErrorOptions {
  readonly cause?: unknown;
  /** With Expired: a token to continue the list without consistency. */
  readonly continueToken?: string;
  readonly retryAfterSeconds?: number;
}

export class StoreError extends KubeletError {
  declare readonly code: StoreErrorCode;
  readonly continueToken: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: StoreErrorCode, message: string, options: StoreErrorOptions = {}) {
    super(code, message, options);
    this.name = "StoreError";
    this.continueToken = options.continueToken;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** HTTP status and Status reason. */
  get apiStatus(): { readonly status: number; readonly reason: string } {
    return apiStatuses[this.code];
  }
}

export function isStoreError(error: unknown, code?: StoreErrorCode): error is StoreError {
  return error instanceof StoreError && (code === undefined || error.code === code);
}

const named = (key: ObjectKey) => `${key.resource} ${JSON.stringify(key.name)}`;

export const notFound = (key: ObjectKey) => new StoreError("NotFound", `${named(key)} not found`);

export const alreadyExists = (key: ObjectKey) =>
  new StoreError("AlreadyExists", `${named(key)} already exists`);

export const conflict = (key: ObjectKey, why: string) =>
  new StoreError("Conflict", `Operation cannot be fulfilled on ${named(key)}: ${why}`);

export const modified = (key: ObjectKey) =>
  conflict(
    key,
    "the object has been modified; please apply your changes to the latest version and try again",
  );

export const futureVersion = (requested: number, current: number) =>
  new StoreError("FutureVersion", `Too large resource version: ${requested}, current: ${current}`, {
    retryAfterSeconds: 1,
  });

export const tooOld = (version: number, compacted: number) =>
  new StoreError("Expired", `too old resource version: ${version} (${compacted})`);

export const closed = () => new StoreError("Closed", "the storage is closed");
