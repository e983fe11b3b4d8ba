import { makeStaticPod } from "../../../lib/model/static-pod.ts";
import type { DecodeManifest } from "./manifest-store.ts";

/** JSON only, checked as all manifests are. For tests. */
export const decodeJson: DecodeManifest = (name, bytes) => {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return { problems: [{ line: 1, message: "no JSON" }] };
  }
  const origin = { source: "http", url: `manifest:${name}` } as const;
  const result = makeStaticPod(value, { nodeName: "node", origin });
  if ("problems" in result)
    return { problems: result.problems.map(({ path, message }) => ({ field: path, message })) };
  return {
    pods: [result.pod],
    warnings: result.unknownFields.map((field) => ({ field, message: "unknown field" })),
  };
};

export function podManifest(name: string, image = "img:1"): Buffer {
  const spec = { containers: [{ name: "main", image }] };
  return Buffer.from(JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec }));
}

/** The same numbers in every run. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

/** A change in a sequence that can be derived again from the seed. */
export type Change = { readonly name: string; readonly version: number | undefined };

export function changeOf(random: (below: number) => number, version: number): Change {
  const name = `m${random(12)}`;
  return { name, version: random(3) === 0 ? undefined : version };
}
