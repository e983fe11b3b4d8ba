import type { Pod } from "../../../lib/model/pod.ts";
import { type ManifestOrigin, makeStaticPod, type StaticPodOptions } from "../../../lib/model/static-pod.ts";
import { parseDocument } from "./document.ts";
import type { SourceProblem } from "./source.ts";

/** Further unknown fields are counted, not listed: a manifest may have hundreds of thousands. */
const maxUnknownFields = 100;
/** A list with so many problems is not read any further: it may have millions of invalid pods. */
const maxProblems = 100;

export type Manifest =
  | { pods: Pod[] /** Problems that do not make the pod invalid. */; warnings: SourceProblem[] }
  | { problems: SourceProblem[] };

/** The Pod in a manifest. */
export function decodeManifest(bytes: Uint8Array, options: StaticPodOptions): Manifest {
  return decode(bytes, options, false);
}

/** A Pod, or all of a PodList: a list with an invalid pod is invalid. */
export function decodeManifestOrList(bytes: Uint8Array, options: StaticPodOptions): Manifest {
  return decode(bytes, options, true);
}

function decode(bytes: Uint8Array, options: StaticPodOptions, allowList: boolean): Manifest {
  const file = nameOf(options.origin);
  const parsed = parseDocument(bytes);
  if ("problem" in parsed) return { problems: [{ file, ...parsed.problem }] };
  const [ignored] = parsed.warnings;
  // No other kubelet accepts applied manifests: no part of one is ignored.
  if (options.origin.source === "applied" && ignored) return { problems: [{ file, ...ignored }] };
  const locate = (field: string, message: string): SourceProblem => {
    return { file, ...parsed.positionOf(field), ...(field && { field }), message };
  };

  const items = allowList ? listItems(parsed.value) : undefined;
  const entries: { value: unknown; at: string }[] = items
    ? items.map((value, i) => ({ value, at: `items[${i}]` }))
    : [{ value: parsed.value, at: "" }];
  const pods: Pod[] = [];
  const warnings: SourceProblem[] = parsed.warnings.map((warning) => ({ file, ...warning }));
  const problems: SourceProblem[] = [];
  let unknown = 0;
  for (const [i, { value, at }] of entries.entries()) {
    if (problems.length >= maxProblems) {
      problems.push({
        file,
        message: `too many problems: ${entries.length - i} further pods were not checked`,
      });
      break;
    }
    const result = makeStaticPod(value, options, at);
    if ("problems" in result) {
      problems.push(...result.problems.map(({ path, message }) => locate(path, message)));
      continue;
    }
    pods.push(result.pod);
    const listed = result.unknownFields.slice(0, Math.max(0, maxUnknownFields - unknown));
    for (const field of listed) warnings.push(locate(field, "unknown field, ignored"));
    unknown += result.unknownFields.length;
  }
  const further = unknown - maxUnknownFields;
  if (further > 0) warnings.push({ file, message: `${further} further unknown fields, ignored` });
  return problems.length > 0 ? { problems } : { pods, warnings };
}

function nameOf(origin: ManifestOrigin): string {
  switch (origin.source) {
    case "file":
      return origin.path;
    case "http":
      return shownUrl(origin.url);
    case "applied":
      return origin.name;
    default:
      return origin satisfies never;
  }
}

/** A URL in logs: without the password and the query, which may be a token. */
export function shownUrl(text: string): string {
  const url = URL.parse(text);
  if (!url) return "the URL of the manifests";
  if (url.password) url.password = "xxxxx";
  if (url.search) url.search = "?xxxxx";
  return url.password || url.search ? url.href : text;
}

/** The items of a PodList, which do not repeat their kind. */
function listItems(value: unknown): unknown[] | undefined {
  const list = value as { kind?: unknown; apiVersion?: unknown; items?: unknown } | null;
  if (typeof list !== "object" || list?.kind !== "PodList" || list.apiVersion !== "v1") return undefined;
  if (list.items === undefined || list.items === null) return [];
  if (!Array.isArray(list.items)) return undefined;
  return list.items.map((item: unknown) =>
    typeof item === "object" && item !== null ? { apiVersion: "v1", kind: "Pod", ...item } : item,
  );
}
