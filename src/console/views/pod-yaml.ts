import { stringify } from "yaml";
import type { ConsolePod } from "../console-node.ts";

/** The pod with its status. A pod refers to Secrets and never contains their values. */
export function podYaml({ pod, status }: ConsolePod): string {
  if (!pod) return "";
  const { managedFields: _, ...metadata } = pod.metadata as typeof pod.metadata & { managedFields?: unknown };
  const object = { apiVersion: "v1", kind: "Pod", metadata, spec: pod.spec, ...(status && { status }) };
  return stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 });
}
