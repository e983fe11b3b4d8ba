import { readFile, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../base/errors.ts";
import { parseIp } from "../base/ip-address.ts";
import { isObject } from "../base/json-value.ts";
import { decodeConfiguration } from "./decode.ts";
import { withCommandLineDefaults, withDefaults, withFileDefaults } from "./defaults.ts";
import { parseDocument } from "./document.ts";
import { listDropIns, mergePatch } from "./drop-ins.ts";
import { encodeConfiguration } from "./encode.ts";
import { FeatureGates } from "./feature-gates.ts";
import type { KubeletFlags } from "./flags/kubelet-flags.ts";
import { parseNodeIps } from "./flags/node-ip.ts";
import { type ConfigOverride, parseFlags } from "./flags/parse.ts";
import {
  type KubeletConfiguration,
  kubeletFields,
  type PartialConfiguration,
} from "./kubelet-configuration.ts";
import { configError, formatConfigProblem, Origins, type Path, type Problem } from "./problems.ts";
import type { Fields } from "./schema.ts";
import { notImplemented } from "./settings-without-effect.ts";
import { validateConfiguration } from "./validate/validate.ts";

export interface LoadOptions {
  readonly args: readonly string[];
}

export interface LoadedConfiguration {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly warnings: readonly string[];
}

/**
 * Defaults, then the --config file, then --config-dir drop-ins, then flags; the result is validated as a whole. Throws
 * a Usage error for a bad command line and a Config error for everything else, a line for each problem.
 */
export async function loadConfiguration({ args }: LoadOptions): Promise<LoadedConfiguration> {
  const { flags, configOverrides, given, warnings } = parseFlags(args);
  const nodeIps = parseNodeIps(flags.nodeIP);
  const files = await readFiles(flags);
  // A file that can be read but has invalid fields is still checked further, to report all problems together.
  if (files.unreadable) throw configError(files.problems);

  const flagGates = overriddenGates(configOverrides);
  const gatesOf = (partial: PartialConfiguration) =>
    new FeatureGates({ ...partial.featureGates, ...flagGates });
  const origins = new Origins();
  const { main, dropIns } = files;
  let config: KubeletConfiguration;
  if (main) {
    const partial = withFileDefaults(withAbsolutePaths(main.partial, dirname(main.path)));
    config = withDefaults(partial, gatesOf(partial));
    origins.merge(main.origins);
  } else {
    config = withDefaults({}, gatesOf({}));
    // Without a cluster no client needs anonymous access.
    if (flags.kubeconfig !== "") config = withCommandLineDefaults(config);
  }
  if (dropIns.length > 0) {
    let merged: unknown = encodeConfiguration(config);
    for (const dropIn of dropIns) {
      merged = mergePatch(merged, dropIn.raw);
      origins.merge(dropIn.origins, listPaths(dropIn.raw));
    }
    // Each drop-in was already decoded separately, so this finds no new problems.
    const { config: partial } = decodeConfiguration(merged);
    config = withDefaults(partial, gatesOf(partial));
  }
  for (const override of configOverrides) apply(config, override, origins);
  if (flags.seccompDefault) config.seccompDefault = true;

  const gates = new FeatureGates(config.featureGates);
  const problems = [...flagProblems(flags), ...files.problems, ...validateConfiguration(config, gates)];
  if (problems.length > 0) throw configError(problems, origins);

  const setFields = [...(main ? [main.raw] : []), ...dropIns.map(({ raw }) => raw)].flatMap((raw) =>
    leaves(raw),
  );
  // kubeadm also writes fields that have not been set, with zero for their default.
  const defaults = withDefaults({}, gates);
  const changedFields = setFields.filter(
    (name) => !isDeepStrictEqual(valueAt(config, name), valueAt(defaults, name)),
  );
  const ignored = notImplemented(given, changedFields, gates.changed());
  return {
    config,
    flags: { ...flags, nodeIP: nodeIps.ips.join(",") },
    gates,
    warnings: [
      ...warnings,
      ...nodeIps.invalid.map((ip) => `--node-ip: ${JSON.stringify(ip)} is not an IP address; it is ignored`),
      ...invalidDns(config, origins),
      ...files.tolerated.map((problem) => `${formatConfigProblem(problem)}; ${problem.tolerated?.effect}`),
      ...(ignored ? [ignored] : []),
      ...gates.warnings(),
    ],
  };
}

function invalidDns({ clusterDNS }: KubeletConfiguration, origins: Origins): string[] {
  return clusterDNS.flatMap((text, index) => {
    if (parseIp(text) !== undefined) return [];
    const problem = { path: ["clusterDNS", index], message: `${JSON.stringify(text)} is not an IP address` };
    return [`${formatConfigProblem(problem, origins)}; it is ignored`];
  });
}

function flagProblems({ nodeIP, cloudProvider }: KubeletFlags): Problem[] {
  const problems: Problem[] = [];
  const note = (flag: string, message: string) => problems.push({ path: [], message, origin: `--${flag}` });
  const { problem } = parseNodeIps(nodeIP);
  if (problem) note("node-ip", `${JSON.stringify(nodeIP)} ${problem}`);
  if (!["", "external"].includes(cloudProvider))
    note("cloud-provider", `must be empty or "external", not ${JSON.stringify(cloudProvider)}`);
  return problems;
}

interface ConfigFile {
  readonly path: string;
  readonly raw: unknown;
  readonly partial: PartialConfiguration;
  readonly origins: Origins;
}

interface ConfigFiles {
  readonly main: ConfigFile | undefined;
  readonly dropIns: readonly ConfigFile[];
  readonly problems: readonly Problem[];
  /** Unknown and duplicate fields, and documents after the first one. */
  readonly tolerated: readonly Problem[];
  readonly unreadable: boolean;
}

/** Reads and decodes every file, so that all of their problems are reported together. */
async function readFiles(flags: KubeletFlags): Promise<ConfigFiles> {
  const problems: Problem[] = [];
  const tolerated: Problem[] = [];
  let unreadable = false;
  const read = async (path: string, isMain: boolean) => {
    // The file of --config may be a pipe, which a shell opens for a process. A pipe in the directory would block the start.
    const { file, found } = await readConfigFile(path, isMain ? readFile : readRegularFile);
    for (const problem of found) {
      const where = problem.tolerated?.in;
      const isTolerated = where === "all files" || (where === "main file" && isMain);
      (isTolerated ? tolerated : problems).push(problem);
    }
    return file;
  };
  const main = flags.config === "" ? undefined : await read(resolve(flags.config), true);
  const dropIns: ConfigFile[] = [];
  if (flags.configDir !== "") {
    const dir = resolve(flags.configDir);
    try {
      for (const path of await listDropIns(dir)) {
        const file = await read(path, false);
        if (file) dropIns.push(file);
        else unreadable = true;
      }
    } catch (error) {
      problems.push({ path: [], message: `cannot be listed: ${messageOf(error)}`, origin: dir });
      unreadable = true;
    }
  }
  unreadable ||= flags.config !== "" && main === undefined;
  return { main, dropIns, problems, tolerated, unreadable };
}

async function readRegularFile(path: string): Promise<Buffer> {
  if (!(await stat(path)).isFile()) throw new Error("not a regular file");
  return readFile(path);
}

async function readConfigFile(
  path: string,
  read: (path: string) => Promise<Buffer>,
): Promise<{ file?: ConfigFile; found: readonly Problem[] }> {
  let text: string;
  try {
    text = (await read(path)).toString("utf8");
  } catch (error) {
    return { found: [{ path: [], message: `cannot be read: ${messageOf(error)}`, origin: path }] };
  }
  const { value, origins, problems } = parseDocument(text, path);
  if (value === undefined) return { found: problems };
  const decoded = decodeConfiguration(value);
  const located = decoded.problems.map((problem) => ({
    ...problem,
    origin: origins.find(problem.path) ?? path,
  }));
  return { file: { path, raw: value, partial: decoded.config, origins }, found: [...problems, ...located] };
}

/** Paths in the main file are relative to its directory; others are relative to the working directory. */
function withAbsolutePaths(partial: PartialConfiguration, dir: string): PartialConfiguration {
  const absolute = (path: string | undefined) => (path && !isAbsolute(path) ? join(dir, path) : path);
  const result = structuredClone(partial);
  for (const name of [
    "staticPodPath",
    "tlsCertFile",
    "tlsPrivateKeyFile",
    "resolvConf",
    "volumePluginDir",
    "podLogsDir",
  ] as const) {
    if (result[name] !== undefined) result[name] = absolute(result[name]);
  }
  const x509 = result.authentication?.x509;
  if (x509?.clientCAFile !== undefined) x509.clientCAFile = absolute(x509.clientCAFile);
  return result;
}

function overriddenGates(overrides: readonly ConfigOverride[]): Record<string, boolean> {
  const gates = overrides.find(({ path }) => path[0] === "featureGates");
  return (gates?.value ?? {}) as Record<string, boolean>;
}

/** A flag replaces the value of the files, except that gates are merged and vmodule patterns are added. */
function apply(config: KubeletConfiguration, { flag, path, value }: ConfigOverride, origins: Origins): void {
  const last = path.at(-1) ?? "";
  // A path of a flag leads through structs only.
  let holder = config as unknown as Record<string, unknown>;
  for (const step of path.slice(0, -1)) holder = holder[step] as Record<string, unknown>;
  const given = new Origins();
  if (last === "featureGates") {
    holder[last] = { ...(holder[last] as object), ...(value as object) };
    for (const name of Object.keys(value as object)) given.set([...path, name], `--${flag}`);
    origins.merge(given);
    return;
  }
  holder[last] = last === "vmodule" ? [...(holder[last] as unknown[]), ...(value as unknown[])] : value;
  given.set(path, `--${flag}`);
  origins.merge(given, [path]);
}

/** The lists in a document, which replace earlier lists as a whole. */
function listPaths(raw: unknown, path: Path = []): Path[] {
  if (Array.isArray(raw)) return [path];
  if (!isObject(raw)) return [];
  return Object.entries(raw).flatMap(([name, value]) => listPaths(value, [...path, name]));
}

/** Dotted names of the fields that a document sets; maps and lists count as one field. */
function leaves(raw: unknown, fields: Fields = kubeletFields, prefix = ""): string[] {
  if (!isObject(raw)) return [];
  return Object.entries(raw).flatMap(([name, value]) => {
    const field = fields[name];
    if (!field || value === null) return [];
    const path = `${prefix}${name}`;
    return field.type.kind === "object" ? leaves(value, field.type.fields, `${path}.`) : [path];
  });
}

/** The value of a field, by its dotted name. */
function valueAt(config: KubeletConfiguration, name: string): unknown {
  return name
    .split(".")
    .reduce<unknown>((value, step) => (isObject(value) ? value[step] : undefined), config);
}
