import { withCommandLineDefaults, withDefaults } from "../lib/config/defaults.ts";
import { formatDuration } from "../lib/config/duration.ts";
import { FeatureGates, settableGates } from "../lib/config/feature-gates.ts";
import { defaultFlags } from "../lib/config/flags/kubelet-flags.ts";
import type { FlagSpec } from "../lib/config/flags/spec.ts";
import { flagGroups } from "../lib/config/flags/table.ts";
import { readerOf } from "../lib/config/flags/values.ts";
import { commandRows } from "./command-list.ts";

const head = `kubelet runs the pods of a node.

Usage:
${commandRows()}`;

/** The help text: every flag by subject, with its type and default. */
export function usage(): string {
  const config = withCommandLineDefaults(withDefaults({}, new FeatureGates()));
  const flags = defaultFlags();
  const groups = flagGroups.map(({ title, flags: specs }) => {
    const rows = specs.map((spec) => ({ left: left(spec), right: `${spec.help}${shownDefault(spec)}` }));
    const width = Math.min(44, Math.max(...rows.map((row) => row.left.length)));
    const lines = rows.map((row) =>
      row.left.length > width
        ? `${row.left}\n${" ".repeat(width + 2)}${row.right}`
        : `${row.left.padEnd(width)}  ${row.right}`,
    );
    return `${title}:\n${lines.join("\n")}\n`;
  });
  const gates = `Feature gates:\n${settableGates()
    .map((gate) => `  ${gate}`)
    .join("\n")}\n`;
  return [head, ...groups, gates].join("\n");

  function shownDefault(spec: FlagSpec): string {
    const value = show(spec, defaultOf(spec));
    return value === "" ? "" : ` (default ${value})`;
  }

  function defaultOf({ target }: FlagSpec): unknown {
    if (target.in === "nowhere") return target.default;
    if (target.in === "flags") return flags[target.key];
    return target.path.reduce<unknown>((holder, step) => (holder as Record<string, unknown>)[step], config);
  }
}

function left({ name, shorthand, type }: FlagSpec): string {
  const { label, impliedValue } = readerOf(type);
  const start = shorthand ? `  -${shorthand}, ` : "      ";
  return `${start}--${name}${impliedValue === undefined ? ` ${label}` : ""}`;
}

function show({ type, target }: FlagSpec, value: unknown): string {
  if (type === "duration" && typeof value === "number") return value === 0 ? "" : formatDuration(value);
  if (Array.isArray(value)) return value.join(",");
  if (typeof value === "object" || value === undefined || value === false || value === 0 || value === "0")
    return "";
  return target.in === "nowhere" && value === "false" ? "" : String(value);
}
