import type { KubeletFlags } from "./kubelet-flags.ts";
import type { FlagType } from "./values.ts";

/** The target of the value: a configuration field, a command-line setting, or none. */
export type FlagTarget =
  | { readonly in: "config"; readonly path: readonly string[] }
  | { readonly in: "flags"; readonly key: keyof KubeletFlags }
  | { readonly in: "nowhere"; readonly default: string };

export interface FlagSpec {
  readonly name: string;
  readonly shorthand?: string;
  readonly type: FlagType;
  readonly target: FlagTarget;
  readonly help: string;
}

export interface FlagGroup {
  readonly title: string;
  readonly flags: readonly FlagSpec[];
}

export function field(name: string, type: FlagType, path: string, help: string): FlagSpec {
  return { name, type, target: { in: "config", path: path.split(".") }, help };
}
/** A flag without a field in KubeletConfiguration. */
export function flagOnly(name: string, type: FlagType, key: keyof KubeletFlags, help: string): FlagSpec {
  return { name, type, target: { in: "flags", key }, help };
}
export function unused(name: string, type: FlagType, fallback: string): FlagSpec {
  const help = "no effect, accepted for compatibility with old command lines";
  return { name, type, target: { in: "nowhere", default: fallback }, help };
}
