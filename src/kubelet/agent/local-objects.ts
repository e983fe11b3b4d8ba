import { resolve } from "node:path";
import { KubeletError } from "../../lib/base/errors.ts";
import { LocalObjects } from "../pods/api-objects/local/local-objects.ts";
import type { AgentOptions } from "./agent-options.ts";

/** ConfigMaps and Secrets from a directory, for a node without an API server. */
export function localObjects({
  localObjects: dir,
  cluster,
  clock,
  logger,
}: AgentOptions): LocalObjects | undefined {
  if (dir === undefined) return undefined;
  if (cluster) throw conflictingObjectSources();
  return new LocalObjects({ dir: resolve(dir), clock, logger });
}

/** Two sources could disagree about the same object. */
export function conflictingObjectSources(): KubeletError {
  return new KubeletError(
    "Config",
    "--local-objects is for a node without an API server; with --kubeconfig, ConfigMaps and Secrets come from the cluster",
  );
}
