import { Problems } from "../../lib/model/validation/problem.ts";
import type { Complaints } from "./names.ts";
import { same } from "./same.ts";

/** Collects validation errors of an API object, with the messages of an API server. Values are shown in full. */
export class FieldProblems extends Problems {
  override invalid(path: string, value: unknown, detail: string): void {
    this.add(path, `Invalid value: ${inFull(value)}: ${detail}`);
  }

  override duplicate(path: string, value: unknown, detail?: string): void {
    this.add(path, `Duplicate value: ${inFull(value)}${detail === undefined ? "" : `: ${detail}`}`);
  }

  checks(path: string, value: unknown, complaints: Complaints): void {
    for (const complaint of complaints) this.invalid(path, value, complaint);
  }

  /** Adds a "not supported" error unless the value is one of these, which are listed in this order. */
  oneOf(path: string, value: unknown, supported: readonly string[]): void {
    if (typeof value === "string" && supported.includes(value)) return;
    const names = supported.map((name) => JSON.stringify(name)).join(", ");
    this.add(path, `Unsupported value: ${inFull(value ?? "")}: supported values: ${names}`);
  }

  notNegative(path: string, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(path, value, "must be greater than or equal to 0");
  }

  immutable(path: string, now: unknown, before: unknown): void {
    if (!same(now, before)) this.invalid(path, now, "field is immutable");
  }
}

function inFull(value: unknown): string {
  return value === undefined ? "null" : JSON.stringify(value);
}
