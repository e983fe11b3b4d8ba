import { Problems } from "../../lib/model/validation/problem.ts";
import { same } from "./same.ts";

/** Collects validation errors of an API object, with the messages of an API server. Values are shown in full. */
export class FieldProblems extends Problems {
  /** An API server reports the path of all labels. */
  override entry(path: string): string {
    return path;
  }

  protected override show(value: unknown): string {
    return value === undefined ? "null" : JSON.stringify(value);
  }

  notNegative(path: string, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(path, value, "must be greater than or equal to 0");
  }

  immutable(path: string, newValue: unknown, oldObject: unknown): void {
    if (!same(newValue, oldObject)) this.invalid(path, newValue, "field is immutable");
  }
}
