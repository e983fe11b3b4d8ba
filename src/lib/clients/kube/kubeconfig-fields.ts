import { dirname, resolve } from "node:path";
import { isObject } from "../../base/json-value.ts";
import type { Origins, Path, Problem } from "../../config/problems.ts";
import { formatPath } from "../../config/problems.ts";
import type { PemSource } from "./kubeconfig.ts";

/** One object of a kubeconfig: reads its fields and records their errors. */
export class Fields {
  readonly problems: Problem[];
  readonly #object: Record<string, unknown>;
  readonly #file: string;
  readonly #origins: Origins;
  readonly #path: Path;

  constructor(value: unknown, file: string, origins: Origins, path: Path = [], problems: Problem[] = []) {
    this.#file = file;
    this.#origins = origins;
    this.#path = path;
    this.problems = problems;
    if (isObject(value)) this.#object = value;
    else {
      this.#object = {};
      if (value != null) problems.push({ path, message: "must be an object" });
    }
  }

  problem(name: string, message: string): void {
    this.problemAt([name], message);
  }

  problemAt(inner: Path, message: string): void {
    const path = [...this.#path, ...inner];
    this.problems.push({ path, message, origin: this.#origins.find(path) ?? this.#file });
  }

  raw(name: string): unknown {
    return Object.hasOwn(this.#object, name) ? this.#object[name] : undefined;
  }

  /** Undefined if it is absent or empty, which means the same. */
  text(name: string): string | undefined {
    const value = this.raw(name);
    if (value == null || value === "") return undefined;
    if (typeof value === "string") return value;
    this.problem(name, "must be a string");
    return undefined;
  }

  texts(name: string): string[] {
    return this.#items(name).flatMap((item, index) => {
      if (typeof item === "string") return [item];
      this.problemAt([name, index], "must be a string");
      return [];
    });
  }

  flag(name: string): boolean {
    const value = this.raw(name);
    if (value != null && typeof value !== "boolean") this.problem(name, "must be true or false");
    return value === true;
  }

  object(name: string): Fields {
    return new Fields(this.raw(name), this.#file, this.#origins, [...this.#path, name]);
  }

  list(name: string): Fields[] {
    const path = [...this.#path, name];
    // They share our problems: a list is always read as part of the object it is in.
    return this.#items(name).map(
      (item, index) => new Fields(item, this.#file, this.#origins, [...path, index], this.problems),
    );
  }

  #items(name: string): unknown[] {
    const value = this.raw(name);
    if (value == null) return [];
    if (Array.isArray(value)) return value;
    this.problem(name, "must be a list");
    return [];
  }

  /** `<name>-data` holds base64 of PEM, `<name>` a path, which is relative to the kubeconfig. Data takes precedence. */
  pem(name: string): PemSource | undefined {
    const data = this.text(`${name}-data`);
    const path = this.text(name);
    if (data !== undefined) {
      const pem = Buffer.from(data, "base64").toString("utf8");
      if (!pem.includes("-----BEGIN ")) this.problem(`${name}-data`, "is not PEM in base64");
      return { kind: "data", pem, field: this.#where(`${name}-data`) };
    }
    if (path === undefined) return undefined;
    return { kind: "file", path: resolve(dirname(this.#file), path), field: this.#where(name) };
  }

  #where(name: string): string {
    const path = [...this.#path, name];
    return `${this.#origins.find(path) ?? this.#file}: ${formatPath(path)}`;
  }
}
