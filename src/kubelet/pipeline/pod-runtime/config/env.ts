import { ExpansionBudget, expandVariables } from "../../../../lib/model/env-expansion.ts";
import type { Container, EnvVar, Pod } from "../../../../lib/model/pod.ts";
import type { ContainerContext, EnvObjects, FileKeyRef } from "./context.ts";
import { fieldValue, resourceValue } from "./downward-api.ts";
import { containerConfigError } from "./errors.ts";

export type EnvContext = Pick<
  ContainerContext,
  "node" | "settings" | "podIps" | "serviceEnv" | "envObjects" | "fileKey" | "env"
>;
type ValueFrom = NonNullable<EnvVar["valueFrom"]> & { fileKeyRef?: FileKeyRef };

/**
 * The container's environment: envFrom, then env in declared order (a later variable replaces an earlier one of the same name, in its
 * place), then the variables of services, unless the pod declares the same names.
 */
export function buildEnv(pod: Pod, container: Container, ctx: EnvContext): Map<string, string> {
  const declared = new Map<string, string>();
  const nameOf = (variable: string) =>
    `container ${JSON.stringify(container.name)}: environment variable ${JSON.stringify(variable)}`;
  const budget = new ExpansionBudget();
  const declare = (name: string, value: string) => {
    budget.spend(name, nameOf(name));
    budget.spend(value, nameOf(name));
    declared.set(name, value);
  };
  for (const source of container.envFrom ?? []) {
    for (const [key, value] of Object.entries(envFromValues(pod, source, ctx)).sort(byKey)) {
      declare(`${source.prefix ?? ""}${key}`, value);
    }
  }
  const service = new Map(Object.entries(ctx.serviceEnv ?? {}));
  const lookup = (name: string) => declared.get(name) ?? service.get(name);
  for (const variable of container.env ?? []) {
    const value = variable.value
      ? expandVariables(variable.value, lookup, { name: nameOf(variable.name) })
      : variable.valueFrom
        ? valueFrom(pod, container, variable.valueFrom, ctx)
        : "";
    if (value !== undefined) declare(variable.name, value);
  }
  const env = new Map(ctx.env ?? []);
  for (const [name, value] of declared) env.set(name, value);
  for (const [name, value] of service) if (!declared.has(name)) env.set(name, value);
  return env;
}

/** Command and arguments with variables expanded. */
export function expandCommand(container: Container, env: ReadonlyMap<string, string>) {
  const budget = new ExpansionBudget();
  const expand = (texts: readonly string[] | undefined, field: "command" | "args") =>
    (texts ?? []).map((text, index) => {
      const name = `container ${JSON.stringify(container.name)}: ${field}[${index}]`;
      const expanded = expandVariables(text, (variable) => env.get(variable), { name });
      budget.spend(expanded, name);
      return expanded;
    });
  return { command: expand(container.command, "command"), args: expand(container.args, "args") };
}

function byKey([a]: [string, string], [b]: [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

type Source = NonNullable<Container["envFrom"]>[number];

function envFromValues(pod: Pod, source: Source, ctx: EnvContext): Readonly<Record<string, string>> {
  const kind = source.configMapRef ? "configMap" : source.secretRef ? "secret" : undefined;
  const ref = source.configMapRef ?? source.secretRef;
  if (!kind || !ref) return {};
  return lookUp(kind, pod, ref.name ?? "", ref.optional, ctx.envObjects) ?? {};
}

/** Undefined if the variable is optional and its source does not exist: such a variable is omitted. */
function valueFrom(pod: Pod, container: Container, from: ValueFrom, ctx: EnvContext): string | undefined {
  if (from.fieldRef) return fieldValue(from.fieldRef, pod, ctx);
  if (from.resourceFieldRef) return resourceValue(from.resourceFieldRef, pod, container, ctx);
  if (from.configMapKeyRef) return keyValue("configMap", pod, from.configMapKeyRef, ctx.envObjects);
  if (from.secretKeyRef) return keyValue("secret", pod, from.secretKeyRef, ctx.envObjects);
  if (from.fileKeyRef && ctx.settings.gates.envFiles !== false)
    return fileValue(from.fileKeyRef, ctx.fileKey);
  return "";
}

type Kind = "configMap" | "secret";
type KeyRef = { name?: string; key: string; optional?: boolean };

function keyValue(kind: Kind, pod: Pod, ref: KeyRef, objects: EnvObjects | undefined): string | undefined {
  const name = ref.name ?? "";
  const data = lookUp(kind, pod, name, ref.optional, objects);
  if (!data) return undefined;
  if (Object.hasOwn(data, ref.key)) return data[ref.key];
  if (ref.optional) return undefined;
  const what = kind === "configMap" ? "ConfigMap" : "Secret";
  throw containerConfigError(`couldn't find key ${ref.key} in ${what} ${pod.metadata.namespace}/${name}`);
}

function lookUp(
  kind: Kind,
  pod: Pod,
  name: string,
  optional: boolean | undefined,
  objects: EnvObjects | undefined,
): Readonly<Record<string, string>> | undefined {
  const { namespace } = pod.metadata;
  if (!objects)
    throw containerConfigError(`couldn't get ${kind} ${namespace}/${name}, no kubeClient defined`);
  const found = objects[kind](namespace, name);
  if (!found && !optional) throw containerConfigError(`${kind.toLowerCase()} "${name}" not found`);
  return found;
}

/** An empty value is treated as missing. */
function fileValue(ref: FileKeyRef, fileKey: EnvContext["fileKey"]): string | undefined {
  const found = fileKey?.(ref);
  if (!found)
    throw containerConfigError(`cannot find the volume "${ref.volumeName}" referenced by FileKeyRef`);
  if (found.value) return found.value;
  if (ref.optional) return undefined;
  throw containerConfigError(`environment variable key "${ref.key}" not found in file "${found.path}"`);
}
