import { KubeletError, messageOf } from "../../base/errors.ts";
import { labelValue, qualifiedName } from "../../base/name-rules.ts";
import { defaultFlags, type KubeletFlags } from "./kubelet-flags.ts";
import { removedFlags } from "./removed-flags.ts";
import type { FlagSpec } from "./spec.ts";
import { flagTable } from "./table.ts";
import { readerOf } from "./values.ts";

/** Kubernetes labels that a kubelet may set on its node. */
const allowed = [
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "kubernetes.io/arch",
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
];

const allowedPrefixes = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/** A flag that sets a configuration field. */
export interface ConfigOverride {
  readonly flag: string;
  readonly path: readonly string[];
  readonly value: unknown;
}

export interface ParsedFlags {
  readonly flags: KubeletFlags;
  readonly configOverrides: readonly ConfigOverride[];
  /** Names of the flags on the command line, normalized, each once. */
  readonly given: readonly string[];
  /** A line for each use of a deprecated flag, in the order of the command line. */
  readonly deprecations: readonly string[];
  /** Lines for the log about flags of older versions. */
  readonly warnings: readonly string[];
}

const shorthands = new Map(
  [...flagTable.values()].flatMap((flag) => (flag.shorthand ? [[flag.shorthand, flag] as const] : [])),
);

/** Parses a command line; throws one Usage error with all problems. */
export function parseFlags(args: readonly string[]): ParsedFlags {
  const values = new Map<FlagSpec, unknown>();
  const problems: string[] = [];
  const deprecations: string[] = [];
  const rest = [...args];
  // The argument after an unknown flag is most likely its value, not a command.
  const skipValue = () => {
    if (rest[0] !== undefined && !rest[0].startsWith("-")) rest.shift();
  };

  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === "--") {
      problems.push(...rest.splice(0).map(unknownCommand));
    } else if (!arg.startsWith("-") || arg === "-") {
      problems.push(unknownCommand(arg));
    } else if (arg.startsWith("--")) {
      long(arg);
    } else {
      short(arg);
    }
  }

  if (problems.length === 0) {
    const labelProblem = nodeLabelProblem(collect(values, []).flags.nodeLabels);
    if (labelProblem) problems.push(`--node-labels: ${labelProblem}`);
  }
  if (problems.length > 0) throw new KubeletError("Usage", problems.join("\n"));
  return collect(values, deprecations);

  function long(arg: string) {
    const equals = arg.indexOf("=");
    const spelled = equals < 0 ? arg.slice(2) : arg.slice(2, equals);
    const name = spelled.replaceAll("_", "-");
    const flag = flagTable.get(name) ?? removedFlags.get(name);
    if (!flag) {
      problems.push(/^[-=]|^$/.test(spelled) ? `bad flag syntax: ${arg}` : `unknown flag: --${spelled}`);
      if (equals < 0) skipValue();
      return;
    }
    set(flag, `--${flag.name}`, equals < 0 ? undefined : arg.slice(equals + 1));
  }

  function short(arg: string) {
    for (let at = 1; at < arg.length; at++) {
      const letter = arg.charAt(at);
      const flag = shorthands.get(letter);
      if (!flag) {
        problems.push(`unknown shorthand flag: '${letter}' in -${arg.slice(at)}`);
        if (at + 1 === arg.length) skipValue();
        return;
      }
      const following = arg.slice(at + 1);
      if (following.startsWith("=")) return set(flag, `-${letter}`, following.slice(1));
      if (readerOf(flag.type).impliedValue === undefined)
        return set(flag, `-${letter}`, following || undefined);
      set(flag, `-${letter}`, undefined);
    }
  }

  function set(flag: FlagSpec, shown: string, attached: string | undefined) {
    const reader = readerOf(flag.type);
    const text = attached ?? reader.impliedValue ?? rest.shift();
    if (text === undefined) {
      const where = shown.startsWith("--") ? shown : `'${shown.slice(1)}' in ${shown}`;
      problems.push(`flag needs an argument: ${where}`);
      return;
    }
    try {
      values.set(flag, reader.read(text, values.get(flag)));
      if (flag.deprecated) deprecations.push(`Flag --${flag.name} has been deprecated, ${flag.deprecated}`);
    } catch (error) {
      problems.push(`${shown}: ${JSON.stringify(text)} ${messageOf(error)}`);
    }
  }
}

function unknownCommand(arg: string): string {
  return `unknown command: ${arg}`;
}

function collect(values: ReadonlyMap<FlagSpec, unknown>, deprecations: readonly string[]): ParsedFlags {
  const configOverrides: ConfigOverride[] = [];
  const own: Partial<Record<keyof KubeletFlags, unknown>> = {};
  for (const [{ name, target }, value] of values) {
    if (value === undefined) continue;
    if (target.in === "config") configOverrides.push({ flag: name, path: target.path, value });
    if (target.in === "flags") own[target.key] = value;
  }
  const names = [...values.keys()].map(({ name }) => name);
  return {
    flags: { ...defaultFlags(), ...own } as KubeletFlags,
    configOverrides,
    given: names.filter((name) => flagTable.has(name)),
    deprecations,
    warnings: names.flatMap((name) => removedFlags.get(name)?.log ?? []),
  };
}

/** Why the node cannot register with these labels, or undefined. */
function nodeLabelProblem(labels: Readonly<Record<string, string>>): string | undefined {
  const problems: string[] = [];
  for (const [key, value] of Object.entries(labels)) {
    const prefix = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
    for (const message of qualifiedName(key)) problems.push(`${JSON.stringify(key)}: ${message}`);
    for (const message of labelValue(value)) problems.push(`${JSON.stringify(value)}: ${message}`);
    if (
      isWithin(prefix, ["kubernetes.io", "k8s.io"]) &&
      !allowed.includes(key) &&
      !isWithin(prefix, allowedPrefixes)
    ) {
      problems.push(`the kubelet may not set the label ${JSON.stringify(key)} on its node`);
    }
  }
  return problems.length > 0 ? problems.join(", ") : undefined;
}

function isWithin(prefix: string, domains: readonly string[]): boolean {
  return domains.some((domain) => prefix === domain || prefix.endsWith(`.${domain}`));
}
