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
  /** Why the flag is deprecated, or its replacement, as the reference kubelet prints it. */
  readonly deprecated?: string;
}

export interface FlagGroup {
  readonly title: string;
  readonly flags: readonly FlagSpec[];
}

const byConfigFile =
  "This parameter should be set via the config file specified by the Kubelet's --config flag. See https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ for more information.";
const fromCadvisor =
  "This is a cadvisor flag that was mistakenly registered with the Kubelet. Due to legacy concerns, it will follow the standard CLI deprecation timeline before being removed.";

/** Flags with a configuration field that the reference kubelet does not deprecate. */
const notDeprecated: ReadonlySet<string> = new Set([
  "v",
  "vmodule",
  "log-flush-frequency",
  "provider-id",
  "fail-cgroupv1",
]);

export function field(name: string, type: FlagType, path: string, help: string): FlagSpec {
  const target = { in: "config", path: path.split(".") } as const;
  return { name, type, target, help, ...(notDeprecated.has(name) ? {} : { deprecated: byConfigFile }) };
}
/** A flag without a field in KubeletConfiguration. */
export function flagOnly(name: string, type: FlagType, key: keyof KubeletFlags, help: string): FlagSpec {
  return { name, type, target: { in: "flags", key }, help };
}
export function deprecated(flag: FlagSpec, text: string): FlagSpec {
  return { ...flag, deprecated: text };
}
/** A flag of cAdvisor that has an effect. */
export function cadvisorFlag(name: string, key: keyof KubeletFlags, help: string): FlagSpec {
  return deprecated(flagOnly(name, "string", key, help), fromCadvisor);
}
export function unused(name: string, type: FlagType, fallback: string): FlagSpec {
  const help = "no effect, accepted for compatibility with old command lines";
  return { name, type, target: { in: "nowhere", default: fallback }, help, deprecated: fromCadvisor };
}
