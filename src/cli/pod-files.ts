import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { KubeletError, messageOf } from "../lib/base/errors.ts";
import { type PodDocument, podDocuments } from "../lib/model/pod-documents.ts";

/** A pod and the file that it was read from. */
export interface FilePod extends PodDocument {
  readonly file: string;
}

/** The pods of files, of all manifests in a directory, or of standard input ("-"). Throws if any file is invalid. */
export async function readPodFiles(paths: readonly string[], stdin: Readable): Promise<FilePod[]> {
  const pods: FilePod[] = [];
  const problems: string[] = [];
  for (const path of paths)
    for (const file of await filesOf(path)) {
      const result = podDocuments(await contentOf(file, stdin));
      if ("documents" in result) pods.push(...result.documents.map((document) => ({ ...document, file })));
      else problems.push(...result.problems.map((problem) => atLine({ file }, problem)));
    }
  if (problems.length > 0) throw new KubeletError("Manifest", problems.join("\n"));
  return pods;
}

/** `web.yaml:7: spec.containers[0].image: Required value`, with the line in the file. */
export function atLine(
  from: { file: string; linesBefore?: number; at?: string },
  problem: { line?: number; field?: string; message: string },
): string {
  const { file, linesBefore = 0, at } = from;
  const line = problem.line === undefined || at !== undefined ? "" : `:${problem.line + linesBefore}`;
  const field = [at, problem.field].filter(Boolean).join(".");
  return `${file}${line}: ${field ? `${field}: ` : ""}${problem.message}`;
}

async function filesOf(path: string): Promise<string[]> {
  if (path === "-") return [path];
  const found = await stat(path).catch((error) => {
    throw unreadable(path, error);
  });
  if (!found.isDirectory()) return [path];
  const names = await readdir(path);
  const manifests = names.filter((name) => !name.startsWith(".") && /\.(?:ya?ml|json)$/i.test(name));
  if (manifests.length === 0)
    throw new KubeletError("Manifest", `${path}: contains no .yaml, .yml or .json file`);
  return manifests.sort((a, b) => (a < b ? -1 : 1)).map((name) => join(path, name));
}

async function contentOf(file: string, stdin: Readable): Promise<string> {
  if (file === "-") return text(stdin);
  return readFile(file, "utf8").catch((error) => {
    throw unreadable(file, error);
  });
}

function unreadable(path: string, error: unknown): KubeletError {
  return new KubeletError("Manifest", `${path}: ${messageOf(error)}`, { cause: error });
}
