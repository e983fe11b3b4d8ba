import { Problems } from "../../lib/model/validation/problem.ts";
import { same } from "./same.ts";

/** Collects validation errors of an API object, with the messages of an API server. Values are shown in full. */
export class FieldProblems extends Problems {
  override invalid(path: string, value: unknown, detail: string): void {
    if (!this.full) this.add(path, `Invalid value: ${inFull(value)}: ${detail}`);
  }

  override duplicate(path: string, value: unknown, detail?: string): void {
    if (!this.full)
      this.add(path, `Duplicate value: ${inFull(value)}${detail === undefined ? "" : `: ${detail}`}`);
  }

  /** Adds a "not supported" error unless the value is one of these, which are listed in this order. */
  oneOf(path: string, value: unknown, supported: readonly string[]): void {
    if (typeof value === "string" && supported.includes(value)) return;
    if (this.full) return;
    const names = supported.map((name) => JSON.stringify(name)).join(", ");
    this.add(path, `Unsupported value: ${inFull(value ?? "")}: supported values: ${names}`);
  }

  notNegative(path: string, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(path, value, "must be greater than or equal to 0");
  }

  immutable(path: string, newValue: unknown, oldObject: unknown): void {
    if (!same(newValue, oldObject)) this.invalid(path, newValue, "field is immutable");
  }
}

function inFull(value: unknown): string {
  return value === undefined ? "null" : JSON.stringify(value);
}
