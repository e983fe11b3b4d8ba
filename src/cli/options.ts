import { KubeletError } from "../lib/base/errors.ts";

type Kind = "switch" | "value" | "values";
type Parsed<S extends Record<string, Kind>> = {
  [K in keyof S]?: S[K] extends "switch" ? true : S[K] extends "values" ? string[] : string;
} & { rest: string[] };

/** Options of kubelet-ts's own commands: -x, --xy, with a value as next argument or after "=". Other arguments are in `rest`. */
export function parseOptions<S extends Record<string, Kind>>(
  args: readonly string[],
  known: S,
  passOn = false,
): Parsed<S> {
  const parsed: Record<string, unknown> & { rest: string[] } = { rest: [] };
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    const match = /^(?:--([\w-]+)|-(\w))(?:=(.*))?$/s.exec(arg);
    const name = match?.[1] ?? match?.[2] ?? "";
    const kind = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!match || !kind) {
      if (arg.startsWith("-") && arg !== "-" && !passOn)
        throw new KubeletError("Usage", `unknown option: ${arg}`);
      parsed.rest.push(arg);
      continue;
    }
    if (kind === "switch") {
      if (match[3] !== undefined) throw new KubeletError("Usage", `${arg}: this option takes no value`);
      parsed[name] = true;
      continue;
    }
    const value = match[3] ?? args[++i];
    if (value === undefined) throw new KubeletError("Usage", `flag needs an argument: ${arg}`);
    if (kind === "values") parsed[name] = [...((parsed[name] as string[] | undefined) ?? []), value];
    else parsed[name] = value;
  }
  return parsed as Parsed<S>;
}
