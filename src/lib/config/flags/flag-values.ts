import { withCommandLineDefaults, withDefaults } from "../defaults.ts";
import { formatDuration } from "../duration.ts";
import { FeatureGates } from "../feature-gates.ts";
import type { KubeletConfiguration } from "../kubelet-configuration.ts";
import { parseFlags } from "./parse.ts";
import type { FlagSpec } from "./spec.ts";
import { flagTable } from "./table.ts";

/** Each flag with its value on the command line, or its default. Values of files are not flags. */
export function flagValues(args: readonly string[]): Record<string, string> {
  const { flags, configOverrides } = parseFlags(args);
  const defaults = withCommandLineDefaults(withDefaults({}, new FeatureGates()));
  const given = new Map(configOverrides.map(({ flag, value }) => [flag, value]));
  const settingOf = ({ name, target }: FlagSpec): unknown => {
    if (target.in === "nowhere") return target.default;
    if (target.in === "flags") return flags[target.key];
    return given.has(name) ? given.get(name) : at(defaults, target.path);
  };
  return Object.fromEntries([...flagTable.values()].map((spec) => [spec.name, shown(spec, settingOf(spec))]));
}

function at(config: KubeletConfiguration, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (holder, step) => (holder as Record<string, unknown> | undefined)?.[step],
    config,
  );
}

/** Formats a value as on a command line, except for lists, which are in brackets. */
function shown({ type }: FlagSpec, value: unknown): string {
  switch (type) {
    case "bool":
      return String(value ?? false);
    case "int32":
    case "int64":
    case "level":
    case "quantity":
      return String(value ?? 0);
    case "duration":
      return typeof value === "number" ? formatDuration(value) : String(value ?? "0s");
    case "string":
    case "ip":
      return String(value ?? "");
    case "version":
      return value === undefined || value === "" ? "false" : String(value);
    case "strings":
      return `[${list<string>(value).join(",")}]`;
    case "map":
    case "mapOfOne":
    case "labels":
    case "gates":
      return pairs(value, "=");
    case "mapLess":
      return pairs(value, "<");
    case "headers":
      // They may contain a password.
      return Object.keys(entries(value))
        .sort(byText)
        .map((name) => `${name}:<masked>`)
        .join(",");
    case "taints":
      return list<{ key: string; value?: string; effect: string }>(value)
        .map(({ key, value: text = "", effect }) => `${key}=${text}:${effect}`)
        .join(",");
    case "reservedMemory":
      return list<{ numaNode: number; limits: object }>(value)
        .map(({ numaNode, limits }) => `${numaNode}:${pairs(limits, "=")}`)
        .join(",");
    case "vmodule":
      return list<{ filePattern: string; verbosity: number }>(value)
        .map(({ filePattern, verbosity }) => `${filePattern}=${verbosity}`)
        .join(",");
    default:
      return type satisfies never;
  }
}

function list<T>(value: unknown): readonly T[] {
  return Array.isArray(value) ? value : [];
}

function entries(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function pairs(value: unknown, separator: string): string {
  return Object.entries(entries(value))
    .map(([name, text]) => `${name}${separator}${text}`)
    .sort(byText)
    .join(",");
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
