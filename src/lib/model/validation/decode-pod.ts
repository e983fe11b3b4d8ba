import { isObject } from "../../base/json-value.ts";
import { core } from "../../schema/types/core/core.ts";
import type { Pod } from "../pod.ts";
import { decode } from "./decode-value.ts";
import type { Problem } from "./problem.ts";

/** A decoded pod, neither defaulted nor validated. */
export type UndefaultedPod = Omit<Pod, "metadata"> & {
  metadata: Omit<Pod["metadata"], "name" | "namespace" | "uid"> & {
    name?: string;
    namespace?: string;
    uid?: string;
  };
};

export type DecodeResult = { pod: UndefaultedPod; unknownFields: string[] } | { problems: Problem[] };

/** The structural half of validation: whether this is a v1 Pod whose fields have the right types. */
export function decodePod(input: unknown, at = ""): DecodeResult {
  const wrongKind = kindProblem(input, at);
  if (wrongKind) return { problems: [wrongKind] };
  const { value, problems, unknown } = decode(core.struct("Pod")!, withoutStatusAndManagedFields(input), at);
  if (problems.list.length > 0) return { problems: problems.list };
  const pod = value as UndefaultedPod;
  pod.metadata ??= {};
  pod.spec ??= { containers: [] };
  pod.spec.containers ??= [];
  return { pod, unknownFields: unknown };
}

/** Status and managed fields are written by the API server and by kubelets. In a manifest they are ignored. */
function withoutStatusAndManagedFields(input: unknown): unknown {
  if (!isObject(input)) return input;
  const { status: _status, ...manifest } = input;
  if (!isObject(manifest.metadata)) return manifest;
  const { managedFields: _managedFields, ...metadata } = manifest.metadata;
  return { ...manifest, metadata };
}

function kindProblem(input: unknown, at: string): Problem | undefined {
  if (!isObject(input))
    return {
      path: at,
      message: "expected a Pod, which is an object with apiVersion, kind, metadata and spec",
    };
  const prefix = at === "" ? "" : `${at}.`;
  const { kind, apiVersion } = input;
  if (kind === undefined || kind === null)
    return { path: `${prefix}kind`, message: 'Required value: expected "Pod"' };
  if (kind !== "Pod") {
    const why =
      typeof kind === "string" && kind.endsWith("List")
        ? "a list is not a Pod; one Pod per file"
        : "manifests may only contain Pods";
    return { path: `${prefix}kind`, message: `expected "Pod", got ${JSON.stringify(kind)}: ${why}` };
  }
  if (apiVersion === undefined || apiVersion === null)
    return { path: `${prefix}apiVersion`, message: 'Required value: expected "v1"' };
  if (apiVersion !== "v1")
    return { path: `${prefix}apiVersion`, message: `expected "v1", got ${JSON.stringify(apiVersion)}` };
  return undefined;
}
