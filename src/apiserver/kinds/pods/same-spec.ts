import { type Json, jsonEqual } from "../../patch/json-value.ts";

/** Exactly the same: specs are kept in one form, so that what differs means something else. */
export function sameJson(a: unknown, b: unknown): boolean {
  return jsonEqual(a as Json | undefined, b as Json | undefined);
}
