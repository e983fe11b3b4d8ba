import type { ApiReader } from "./kubectl.ts";

/** The completions of the last argument, which may be the value of a flag; kubectl reads a candidate per line, then ":4" for "no file names". */
export async function completions(
  kubectl: ApiReader,
  namespace: string,
  words: readonly string[],
  flag?: string,
): Promise<string[]> {
  const word = words.at(-1) ?? "";
  const names = async (path: string) =>
    (await kubectl.get<{ items: { metadata: { name: string } }[] }>(path)).items.map(
      ({ metadata }) => metadata.name,
    );
  const isNamespace = flag === "n" || flag === "namespace";
  if (flag !== undefined && !isNamespace) return [];
  const before = words.slice(0, -1).filter((other) => !other.startsWith("-"));
  const flags = ["--all-namespaces", "--all-steps", "--namespace", "--output", "--watch"];
  const candidates = isNamespace
    ? await names("/api/v1/namespaces")
    : word.startsWith("-")
      ? flags
      : before[0] === "node"
        ? await names("/api/v1/nodes")
        : ["node", ...(await names(`/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`))];
  return candidates.filter((candidate) => candidate.startsWith(word));
}
