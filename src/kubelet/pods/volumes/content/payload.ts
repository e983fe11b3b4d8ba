import { posix } from "node:path";
import { KubeletError } from "../../../../lib/base/errors.ts";

export interface ContentFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** The owner of the file; root if not set. */
  readonly user?: number | undefined;
}

/** The files of a volume by their relative path. */
export type Payload = ReadonlyMap<string, ContentFile>;

const maxPathBytes = 4096;
const maxNameBytes = 255;

/** The payload with normalized paths. Fails if a path could lead out of the volume, or collide with the writer's own names. */
export function checkPayload(payload: Payload): Map<string, ContentFile> {
  const checked = new Map<string, ContentFile>();
  for (const [path, file] of payload) {
    const problem = problemWith(path);
    if (problem) throw new KubeletError("InvalidPath", `invalid path: ${problem}`);
    checked.set(cleanPath(path), file);
  }
  return checked;
}

function cleanPath(path: string): string {
  return posix.normalize(path).replace(/\/+$/, "");
}

function problemWith(path: string): string | undefined {
  if (cleanPath(path) === "" || cleanPath(path) === ".") return `must not be empty: "${path}"`;
  if (path.includes("\0")) return "must not contain a zero byte";
  if (posix.isAbsolute(path)) return `must be relative path: ${path}`;
  if (Buffer.byteLength(path) > maxPathBytes)
    return `must be less than or equal to ${maxPathBytes} characters`;
  const names = path.split("/");
  if (names.includes("..")) return `must not contain '..': ${path}`;
  if (names.some((name) => Buffer.byteLength(name) > maxNameBytes))
    return `filenames must be less than or equal to ${maxNameBytes} characters`;
  // The writer's own names; also after a "./".
  if (cleanPath(path).startsWith("..")) return `must not start with '..': ${path}`;
  return undefined;
}

/** The names of a payload that are visible in the volume's root. */
export function topNames(payload: Payload): Set<string> {
  return new Set(Array.from(payload.keys(), (path) => path.split("/", 1)[0] ?? path));
}
