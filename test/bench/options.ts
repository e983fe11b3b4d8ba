/** One option of a mode, without its leading dashes. */
export type OptionSpec =
  | {
      readonly kind: "count";
      readonly default: number;
      /** 1 if undefined. */
      readonly least?: number;
      readonly most?: number;
      readonly help: string;
    }
  | {
      readonly kind: "choice";
      readonly default: string;
      readonly values: readonly string[];
      readonly help: string;
    }
  | { readonly kind: "flag" | "path" | "paths" | "text"; readonly help: string };

export type OptionTable = Readonly<Record<string, OptionSpec>>;

interface ValueOf {
  count: number;
  choice: string;
  flag: boolean;
  path: string | undefined;
  text: string | undefined;
  paths: readonly string[];
}

export type OptionValues<T extends OptionTable> = { readonly [K in keyof T]: ValueOf[T[K]["kind"]] };

/** An error of the command line: its message states what to write instead. */
export class UsageError extends Error {}

/** Reads `--name value`, `--name=value` and flags. */
export function parseOptions<T extends OptionTable>(table: T, args: readonly string[]): OptionValues<T> {
  const values: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(table)) values[name] = defaultOf(spec);
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (!arg.startsWith("--")) throw new UsageError(`unexpected argument "${arg}"`);
    const [name = "", ...inline] = arg.slice(2).split("=");
    const spec = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!spec) {
      const known = Object.keys(table).map((option) => `--${option}`);
      throw new UsageError(`unknown option --${name}; known: ${known.join(", ")}`);
    }
    if (spec.kind === "flag") {
      if (inline.length > 0) throw new UsageError(`--${name} has no value`);
      values[name] = true;
      continue;
    }
    const text = inline.length > 0 ? inline.join("=") : rest.shift();
    if (text === undefined || text === "" || (inline.length === 0 && text.startsWith("--")))
      throw new UsageError(`--${name} needs a value: ${spec.help}`);
    const value = readValue(name, spec, text);
    values[name] = spec.kind === "paths" ? [...(values[name] as string[]), value] : value;
  }
  return values as OptionValues<T>;
}

function defaultOf(spec: OptionSpec): unknown {
  if ("default" in spec) return spec.default;
  if (spec.kind === "paths") return [];
  return spec.kind === "flag" ? false : undefined;
}

function readValue(name: string, spec: OptionSpec, text: string): string | number {
  if (spec.kind === "count") {
    const { least = 1, most = Number.MAX_SAFE_INTEGER } = spec;
    const isCount = /^[0-9]{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most;
    const range = spec.most === undefined ? `of at least ${least}` : `from ${least} to ${most}`;
    if (!isCount) throw new UsageError(`--${name}: "${text}" is not a whole number ${range}`);
    return Number(text);
  }
  if (spec.kind === "choice" && !spec.values.includes(text))
    throw new UsageError(`--${name}: "${text}" is none of ${spec.values.join(", ")}`);
  return text;
}

/** The lines of `--help` about these options. */
export function optionHelp(table: OptionTable): string[] {
  const placeholder = {
    count: " N",
    choice: " VALUE",
    flag: "",
    path: " FILE",
    paths: " FILE",
    text: " VALUE",
  };
  return Object.entries(table).map(([name, spec]) => {
    const shown = "default" in spec ? `${spec.help} (default: ${spec.default})` : spec.help;
    return `  ${`--${name}${placeholder[spec.kind]}`.padEnd(22)}${shown}`;
  });
}
