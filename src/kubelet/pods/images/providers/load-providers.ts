import { createHash } from "node:crypto";
import { access, constants, readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import type { Path } from "../../../../lib/config/problems.ts";
import { decodeProviders, type RawProvider } from "./provider-config.ts";
import { type ProviderRules, type requestVersions, validateProvider } from "./validate-providers.ts";

export type RequestVersion = (typeof requestVersions)[number];

export interface TokenAttributes {
  readonly audience: string;
  /** Whether a response is cached for all pods of the service account, or for one token only. */
  readonly cacheType: "ServiceAccount" | "Token";
  /** If false, the plugin is also executed for pods without a service account. */
  readonly requireServiceAccount: boolean;
  readonly requiredAnnotations: readonly string[];
  readonly optionalAnnotations: readonly string[];
}

export interface ProviderConfig {
  readonly name: string;
  /** The plugin binary. */
  readonly path: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheMs: number;
  readonly apiVersion: RequestVersion;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly tokens: TokenAttributes | undefined;
}

export interface LoadedProviders {
  /** In the order of the files and their entries. */
  readonly providers: readonly ProviderConfig[];
  /** Identifies the configuration. */
  readonly hash: string;
}

export interface ProviderFlags {
  /** A file, or a directory of .json, .yaml and .yml files. */
  readonly configPath: string;
  readonly binDir: string;
}

/** Reads the configuration of credential provider plugins. Fails with all of its problems, one per line. */
export async function loadProviders(flags: ProviderFlags, rules: ProviderRules): Promise<LoadedProviders> {
  await checkBinDir(flags.binDir);
  const problems: string[] = [];
  const providers: ProviderConfig[] = [];
  const hash = createHash("sha256");
  const seen = new Set<string>();
  for (const file of await configFiles(flags.configPath)) {
    const bytes = await readFile(file).catch((error) => fail(`cannot be read: ${messageOf(error)}`, file));
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
    const decoded = decodeProviders(bytes.toString("utf8"), file);
    problems.push(...decoded.problems);
    for (const [index, provider] of decoded.providers.entries()) {
      const report = (path: Path, message: string) =>
        problems.push(decoded.show({ path: ["providers", index, ...path], message }));
      validateProvider(provider, rules, report);
      if (seen.has(provider.name ?? ""))
        report(["name"], `${JSON.stringify(provider.name)} is specified more than once`);
      seen.add(provider.name ?? "");
      providers.push(toConfig(provider, flags.binDir));
    }
  }
  if (providers.length === 0 && problems.length === 0)
    problems.push(`${flags.configPath}: providers: needs at least one item`);
  if (problems.length > 0) throw new KubeletError("CredentialProviders", problems.join("\n"));
  for (const { path } of providers) await checkPlugin(path);
  return { providers, hash: `sha256:${hash.digest("hex")}` };
}

function toConfig(raw: RawProvider, binDir: string): ProviderConfig {
  const { name = "", tokenAttributes } = raw;
  return {
    name,
    path: join(binDir, name),
    matchImages: raw.matchImages ?? [],
    defaultCacheMs: raw.defaultCacheDuration ?? 0,
    apiVersion: raw.apiVersion as RequestVersion,
    args: raw.args ?? [],
    env: (raw.env ?? []).map((variable) => ({ name: variable.name ?? "", value: variable.value ?? "" })),
    tokens: tokenAttributes && {
      audience: tokenAttributes.serviceAccountTokenAudience ?? "",
      cacheType: tokenAttributes.cacheType as TokenAttributes["cacheType"],
      requireServiceAccount: tokenAttributes.requireServiceAccount ?? true,
      requiredAnnotations: tokenAttributes.requiredServiceAccountAnnotationKeys ?? [],
      optionalAnnotations: tokenAttributes.optionalServiceAccountAnnotationKeys ?? [],
    },
  };
}

async function configFiles(path: string): Promise<string[]> {
  if (path === "") fail("no path is set (--image-credential-provider-config)");
  const info = await stat(path).catch((error) => fail(`cannot be read: ${messageOf(error)}`, path));
  if (!info.isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true }).catch((error) =>
    fail(`cannot be read: ${messageOf(error)}`, path),
  );
  const files = entries
    .filter((entry) => !entry.isDirectory() && [".json", ".yaml", ".yml"].includes(extname(entry.name)))
    .map((entry) => join(path, entry.name))
    .sort((a, b) => (a < b ? -1 : 1));
  if (files.length === 0) fail("has no configuration files (.json, .yaml, .yml)", path);
  return files;
}

async function checkBinDir(path: string): Promise<void> {
  if (path === "") fail("no path is set (--image-credential-provider-bin-dir)");
  await stat(path).catch((error) => {
    if (errnoOf(error) === "ENOENT") fail(`plugin binary directory ${path} did not exist`);
    fail(`error inspecting binary directory ${path}: ${messageOf(error)}`);
  });
}

async function checkPlugin(path: string): Promise<void> {
  const info = await stat(path).catch((error) => {
    if (errnoOf(error) === "ENOENT") fail(`plugin binary executable ${path} did not exist`);
    return fail(`error inspecting binary executable ${path}: ${messageOf(error)}`);
  });
  const isExecutable =
    info.isFile() &&
    (await access(path, constants.X_OK).then(
      () => true,
      () => false,
    ));
  if (!isExecutable) fail(`error inspecting binary executable ${path}: it is not executable`);
}

function fail(why: string, path?: string): never {
  throw new KubeletError("CredentialProviders", path ? `${path}: ${why}` : why);
}
