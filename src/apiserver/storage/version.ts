import { StoreError } from "./errors.ts";

/** A resourceVersion as a client sent it: undefined if unset. */
export function parseVersion(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const version = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(version)) {
    throw new StoreError(
      "BadRequest",
      `resourceVersion: Invalid value: ${JSON.stringify(text)}: must be a whole number`,
    );
  }
  return version;
}
