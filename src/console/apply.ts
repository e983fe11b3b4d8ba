import { Lexer } from "yaml";
import type {
  ManifestPutResult,
  ManifestProblem as StoreProblem,
} from "../kubelet/server/manifests/applied-manifest.ts";
import { manifestName, type PodDocument, podDocuments } from "../lib/model/pod-documents.ts";
import type { ConsoleManifests } from "./console-node.ts";
import { ConsoleProblem } from "./http/problem.ts";
import type { ApplyResult, ManifestProblem } from "./protocol.ts";

const maxBytes = 1024 * 1024;
/** About 150 KiB of a usual manifest. The parser blocks the agent for several microseconds per token, and a token may be a single byte. */
const maxTokens = 50_000;

/** Applies the pods of a text, or only validates them. If any pod is invalid, nothing is applied. */
export async function applyManifests(
  manifests: ConsoleManifests,
  text: string,
  dryRun: boolean,
): Promise<ApplyResult> {
  if (Buffer.byteLength(text) > maxBytes)
    throw new ConsoleProblem("too-large", "the manifest is larger than 1 MiB");
  if (hasMoreTokens(text, maxTokens))
    throw new ConsoleProblem(
      "too-large",
      `the manifest has more than ${maxTokens} YAML tokens: apply its pods in parts`,
    );
  const found = podDocuments(text);
  if ("problems" in found) throw invalid(found.problems.map(ofText));
  const documents = found.documents.map((document) => ({
    document,
    name: manifestName(document),
    bytes: Buffer.from(document.text),
  }));
  const problems: ManifestProblem[] = [];
  for (const { document, name, bytes } of documents)
    problems.push(...problemsOf(document, await manifests.check(name, bytes)));
  const names = documents.map(({ name }) => name);
  for (const { document, name } of documents.filter(({ name }, i) => names.indexOf(name) !== i))
    problems.push(located(document, { field: "metadata.name", message: `pod "${name}" is repeated` }));
  for (const { document, name } of documents)
    if (holdsAnother(manifests, name, document))
      problems.push(
        located(document, { message: `manifest "${name}" already exists with another pod: delete it first` }),
      );
  if (problems.length > 0) throw invalid(problems);
  const results: ApplyResult["results"][number][] = [];
  const warnings: ManifestProblem[] = [];
  for (const { document, name, bytes } of documents) {
    const result = await (dryRun ? manifests.check(name, bytes) : manifests.put(name, bytes));
    const failed = problemsOf(document, result);
    if (failed.length > 0) throw invalid(failed);
    if (!("pods" in result)) continue;
    warnings.push(...result.warnings.map((warning) => located(document, warning)));
    for (const { metadata } of result.pods)
      results.push({
        namespace: metadata.namespace,
        name: metadata.name,
        result: dryRun ? "valid" : result.kind,
        uid: dryRun ? "" : metadata.uid,
      });
  }
  return { results, warnings };
}

/** Reads tokens only, which is much faster than parsing, and no more of them than necessary. */
function hasMoreTokens(text: string, max: number): boolean {
  let count = 0;
  for (const _token of new Lexer().lex(text)) if (++count > max) return true;
  return false;
}

function problemsOf(document: PodDocument, result: ManifestPutResult): ManifestProblem[] {
  switch (result.kind) {
    case "invalid":
      return result.problems.map((problem) => located(document, problem));
    case "conflict": {
      const message = `pod "${result.pod}" is already in ${result.holder}`;
      return [located(document, { field: "metadata.name", message })];
    }
    case "full":
      return [located(document, { message: `the limit of ${result.max} manifests is reached` })];
    default:
      return [];
  }
}

/** A client of the HTTP API may have chosen the name for another pod. */
function holdsAnother(
  manifests: ConsoleManifests,
  name: string,
  { namespace, ...pod }: PodDocument,
): boolean {
  const existing = manifests.list().find((manifest) => manifest.name === name);
  return (
    existing?.pods.some(
      ({ metadata }) =>
        metadata.namespace !== namespace ||
        // The kubelet appends the node's name.
        !(metadata.name === pod.name || metadata.name.startsWith(`${pod.name}-`)),
    ) ?? false
  );
}

/** A problem of the text itself; its message begins with the field, if it is about one. */
function ofText({ message, ...at }: StoreProblem): ManifestProblem {
  const [, field, rest] = /^([\w.[\]]+): (.*)$/s.exec(message) ?? [];
  return located(undefined, { ...at, ...(field !== undefined && { field }), message: rest ?? message });
}

/** Positions are in the whole text; those in a generated text mean nothing. */
function located(document: PodDocument | undefined, problem: StoreProblem): ManifestProblem {
  const { line, column, field = "", message } = problem;
  const isExact = document === undefined || document.linesBefore !== undefined;
  const at = document?.at;
  return {
    line: line !== undefined && isExact ? line + (document?.linesBefore ?? 0) : null,
    column: column !== undefined && isExact ? column : null,
    field: at ? [at, field].filter(Boolean).join(".") : field,
    message,
  };
}

function invalid(problems: readonly ManifestProblem[]): ConsoleProblem {
  const [first] = problems;
  const where = first?.line ? `line ${first.line}: ` : "";
  const field = first?.field ? `${first.field}: ` : "";
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return new ConsoleProblem("invalid", `${where}${field}${first?.message ?? "invalid"}${more}`, { problems });
}
