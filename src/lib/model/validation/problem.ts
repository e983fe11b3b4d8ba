import type { Messages } from "../../base/name-rules.ts";

/** One validation error of an object: its path ("spec.containers[0].name") and the message of Kubernetes. */
export interface Problem {
  path: string;
  message: string;
}

/** Further problems are not collected: each of a million items of a list may have several, and each may show the whole list. */
const maxTextLength = 1024 * 1024;

/** Collects problems. One method for each type of field error of the API server, so that messages are the same. */
export class Problems {
  readonly list: Problem[] = [];
  #textLength = 0;

  /** True if there are so many problems that no more are collected. */
  get full(): boolean {
    return this.#textLength >= maxTextLength;
  }

  /** The path of a label or annotation, for the line of a manifest. */
  entry(path: string, key: string): string {
    return `${path}[${key}]`;
  }

  protected show(value: unknown): string {
    return formatValue(value);
  }

  add(path: string, message: string): void {
    if (this.full) return;
    this.list.push({ path, message });
    this.#textLength += path.length + message.length;
  }

  required(path: string, detail?: string): void {
    this.add(path, detail ? `Required value: ${detail}` : "Required value");
  }

  invalid(path: string, value: unknown, detail: string): void {
    if (!this.full) this.add(path, `Invalid value: ${this.show(value)}: ${detail}`);
  }

  /** Adds an "Unsupported value" unless the value is one of these, which are listed in this order. */
  oneOf(path: string, value: unknown, supported: readonly string[]): void {
    if (typeof value !== "string" || !supported.includes(value)) this.notSupported(path, value, supported);
  }

  /** An "Unsupported value", even if it is one of these: Kubernetes lists some that a feature gate turns off. */
  notSupported(path: string, value: unknown, supported: readonly string[]): void {
    if (this.full) return;
    const names = supported.map((name) => JSON.stringify(name)).join(", ");
    this.add(path, `Unsupported value: ${this.show(value ?? "")}: supported values: ${names}`);
  }

  unsupported(path: string, value: unknown, supported: Iterable<string>): void {
    if (this.full) return;
    const names = [...supported].sort((a, b) => (a < b ? -1 : 1)).map((name) => JSON.stringify(name));
    this.add(path, `Unsupported value: ${this.show(value)}: supported values: ${names.join(", ")}`);
  }

  duplicate(path: string, value: unknown, detail?: string): void {
    if (!this.full)
      this.add(path, `Duplicate value: ${this.show(value)}${detail === undefined ? "" : `: ${detail}`}`);
  }

  notFound(path: string, value: unknown): void {
    if (!this.full) this.add(path, `Not found: ${this.show(value)}`);
  }

  forbidden(path: string, detail: string): void {
    this.add(path, `Forbidden: ${detail}`);
  }

  tooMany(path: string, count: number, most: number): void {
    this.add(path, `Too many: ${count}: must have at most ${most} items`);
  }

  tooLong(path: string, most: number): void {
    this.add(path, `Too long: may not be more than ${most} bytes`);
  }

  /** Adds an "Invalid value" for each message of a rule such as `dnsLabel`. */
  check(path: string, value: unknown, messages: Messages): void {
    for (const message of messages) this.invalid(path, value, message);
  }
}

/** A value as it appears in a message: short, on one line. */
export function formatValue(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  const text = value === undefined ? "null" : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
