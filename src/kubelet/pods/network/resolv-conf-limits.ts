import { readFile } from "node:fs/promises";
import { messageOf } from "../../../lib/base/errors.ts";
import type { NodeEvents } from "../../../lib/model/pod-events.ts";
import { maxSearches, maxSearchLength, maxSearchLineLength } from "./dns.ts";
import { parseResolvConf } from "./resolv-conf.ts";

/** Reports a resolver configuration that pods can get only in part. It is read again for each pod. */
export async function checkResolvConf(
  { resolvConf: path, clusterDomain }: { readonly resolvConf?: string; readonly clusterDomain: string },
  events: NodeEvents,
): Promise<void> {
  if (!path) return;
  const problem = await readFile(path, "utf8").then(
    (text) => resolvConfProblem({ path, text }, clusterDomain),
    (error: unknown) => `open ${path}: ${/^E\w+: ([^,]+),/.exec(messageOf(error))?.[1] ?? messageOf(error)}`,
  );
  if (problem !== undefined) events.warning("CheckLimitsForResolvConf", problem);
}

/** Why pods cannot have all search domains of the node; undefined if they can. */
export function resolvConfProblem(
  { path, text }: { path: string; text: string },
  clusterDomain: string,
): string | undefined {
  let searches: readonly string[];
  try {
    ({ searches } = parseResolvConf(text));
  } catch (error) {
    return messageOf(error);
  }
  // Pods with the cluster's DNS have three domains of it.
  const limit = clusterDomain === "" ? maxSearches : maxSearches - 3;
  if (searches.length > limit)
    return `Resolv.conf file '${path}' contains search line consisting of more than ${limit} domains!`;
  if (searches.some(({ length }) => length > maxSearchLength))
    return `Resolv.conf file "${path}" contains a search path which length is more than allowed ${maxSearchLength} chars!`;
  if (searches.join(" ").length > maxSearchLineLength)
    return `Resolv.conf file '${path}' contains search line which length is more than allowed ${maxSearchLineLength} chars!`;
  return undefined;
}
