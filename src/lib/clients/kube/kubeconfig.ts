import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../base/errors.ts";
import { parseDocument } from "../../config/document.ts";
import type { Origins, Path } from "../../config/problems.ts";
import { formatConfigProblem, type Problem } from "../../config/problems.ts";
import { Fields } from "./kubeconfig-fields.ts";

/** PEM text, or a file to read it from repeatedly: such files are replaced while we run. */
export type PemSource =
  | { readonly kind: "data"; readonly pem: string; readonly field: string }
  | { readonly kind: "file"; readonly path: string; readonly field: string };

export interface ExecPlugin {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1";
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: "Never" | "IfAvailable" | "Always";
}

export interface ClusterAccess {
  readonly server: URL;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly certificateAuthority: PemSource | undefined;
  readonly proxyUrl: URL | undefined;
  readonly disableCompression: boolean;
  /** The cluster's configuration for exec plugins (extension client.authentication.k8s.io/exec). */
  readonly execConfig: unknown;
}

export interface UserAccess {
  readonly clientCertificate: { readonly cert: PemSource; readonly key: PemSource } | undefined;
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly basic: { readonly username: string; readonly password: string } | undefined;
  readonly exec: ExecPlugin | undefined;
}

/** The address of the API server and our credentials: the current context of a kubeconfig. */
export interface KubeAccess {
  readonly file: string;
  readonly context: string;
  readonly namespace: string;
  readonly cluster: ClusterAccess;
  readonly user: UserAccess;
}

/** Reads a kubeconfig and checks that the files it names can be read. */
export async function loadKubeconfig(file: string): Promise<KubeAccess> {
  const access = parseKubeconfig(await read(file, `kubeconfig ${file}`), file);
  const { certificateAuthority } = access.cluster;
  const { clientCertificate } = access.user;
  for (const source of [certificateAuthority, clientCertificate?.cert, clientCertificate?.key]) {
    if (source?.kind === "file") await read(source.path, source.field);
  }
  return access;
}

async function read(path: string, field: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const why = errnoOf(error) === "ENOENT" ? `there is no file ${path}` : messageOf(error);
    throw new KubeletError("Kubeconfig", `${field}: ${why}`, { cause: error });
  }
}

/** Throws one error with a line for each problem: file, line, field and message. */
export function parseKubeconfig(text: string, file: string): KubeAccess {
  const { value, origins, problems } = parseDocument(text, file);
  if (problems.length > 0) throw kubeconfigError(problems, origins);
  const root = new Fields(value, file, origins);
  const context = root.text("current-context");
  if (root.problems.length === 0 && context === undefined) root.problem("current-context", "is not set");
  const chosen = context === undefined ? undefined : entry(root, "contexts", "context", context);
  const clusterName = chosen?.text("cluster");
  const userName = chosen?.text("user");
  if (chosen && clusterName === undefined) chosen.problem("cluster", "is not set");
  const cluster = clusterName === undefined ? undefined : entry(root, "clusters", "cluster", clusterName);
  // A context without a user is anonymous, which a server may allow.
  const user =
    userName === undefined ? new Fields({}, file, origins) : entry(root, "users", "user", userName);
  const clusterAccess = cluster && readCluster(cluster);
  const userAccess = user && readUser(user, file);
  const all = [root, chosen, cluster, user].flatMap((fields) => fields?.problems ?? []);
  if (all.length > 0 || !clusterAccess || !userAccess || context === undefined)
    throw kubeconfigError(all, origins);
  return {
    file,
    context,
    namespace: chosen?.text("namespace") ?? "default",
    cluster: clusterAccess,
    user: userAccess,
  };
}

function kubeconfigError(problems: readonly Problem[], origins: Origins): KubeletError {
  return new KubeletError(
    "Kubeconfig",
    problems.map((problem) => formatConfigProblem(problem, origins)).join("\n"),
  );
}

/** The entry of this name in one of the three lists. */
function entry(root: Fields, list: string, inner: string, name: string): Fields | undefined {
  const found = root.list(list).filter((item) => item.text("name") === name);
  const [first] = found;
  if (!first) {
    root.problem(list, `has no entry named ${JSON.stringify(name)}`);
    return undefined;
  }
  if (found.length > 1) root.problem(list, `has more than one entry named ${JSON.stringify(name)}`);
  return first.object(inner);
}

function readCluster(fields: Fields): ClusterAccess | undefined {
  const server = serverUrl(fields);
  const access = {
    tlsServerName: fields.text("tls-server-name"),
    insecureSkipTlsVerify: fields.flag("insecure-skip-tls-verify"),
    certificateAuthority: fields.pem("certificate-authority"),
    proxyUrl: proxyUrl(fields),
    disableCompression: fields.flag("disable-compression"),
    execConfig: fields
      .list("extensions")
      .find((extension) => extension.text("name") === "client.authentication.k8s.io/exec")
      ?.raw("extension"),
  };
  if (access.insecureSkipTlsVerify && access.certificateAuthority) {
    fields.problem(
      "insecure-skip-tls-verify",
      "cannot be true together with a certificate authority: one specifies whom to trust, the other to trust any server",
    );
  }
  return server && { server, ...access };
}

function serverUrl(fields: Fields): URL | undefined {
  const server = fields.text("server");
  if (server === undefined) {
    fields.problem("server", "is not set");
    return undefined;
  }
  const url = URL.parse(server.includes("://") ? server : `http://${server}`);
  if (url && (url.protocol === "https:" || url.protocol === "http:") && url.hostname) return url;
  fields.problem("server", `${JSON.stringify(server)} is not an http(s) URL`);
  return undefined;
}

function proxyUrl(fields: Fields): URL | undefined {
  const proxy = fields.text("proxy-url");
  if (proxy === undefined) return undefined;
  const url = URL.parse(proxy);
  if (url && (url.protocol === "http:" || url.protocol === "https:")) return url;
  // The value is omitted from the message: it may contain a password.
  fields.problem("proxy-url", "is not a URL of a proxy that is supported: http or https");
  return undefined;
}

function readUser(fields: Fields, file: string): UserAccess {
  const cert = fields.pem("client-certificate");
  const key = fields.pem("client-key");
  if (cert && !key) fields.problem("client-key", "is missing: client-certificate needs its key");
  const token = fields.text("token");
  const tokenFile = fields.text("tokenFile");
  const username = fields.text("username");
  const password = fields.text("password");
  const basic = username || password ? { username: username ?? "", password: password ?? "" } : undefined;
  if (basic && (token || tokenFile)) {
    fields.problem(token ? "token" : "tokenFile", "cannot be used together with username and password");
  }
  // Ignoring these would authenticate as a user other than the file specifies.
  for (const name of ["as", "as-uid", "as-groups", "as-user-extra", "auth-provider"]) {
    if (fields.raw(name) != null) fields.problem(name, "is not supported");
  }
  const plugin = fields.raw("exec") == null ? undefined : fields.object("exec");
  const exec = plugin && readExec(plugin, file);
  for (const problem of plugin?.problems ?? []) fields.problems.push(problem);
  return {
    clientCertificate: cert && key ? { cert, key } : undefined,
    token,
    tokenFile: tokenFile === undefined ? undefined : resolve(dirname(file), tokenFile),
    basic,
    exec,
  };
}

const execVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] as const;
const interactiveModes = ["Never", "IfAvailable", "Always"] as const;

function readExec(fields: Fields, file: string): ExecPlugin | undefined {
  const command = fields.text("command");
  if (command === undefined) fields.problem("command", "is not set");
  const version = fields.text("apiVersion");
  const apiVersion = execVersions.find((known) => known === version);
  if (!apiVersion) fields.problem("apiVersion", `must be one of ${execVersions.join(", ")}`);
  // v1beta1 is older than this field.
  const mode =
    fields.text("interactiveMode") ?? (version === execVersions[1] ? ("IfAvailable" as const) : undefined);
  const interactiveMode = interactiveModes.find((known) => known === mode);
  if (!interactiveMode) fields.problem("interactiveMode", `must be one of ${interactiveModes.join(", ")}`);
  const env = fields.list("env").flatMap((variable, index): [string, string][] => {
    const name = variable.text("name");
    if (name !== undefined) return [[name, variable.text("value") ?? ""]];
    fields.problemAt(["env", index, "name"] satisfies Path, "is not set");
    return [];
  });
  if (command === undefined || !apiVersion || !interactiveMode) return undefined;
  return {
    // A bare name is searched in PATH, any other is a path.
    command: command.includes("/") ? resolve(dirname(file), command) : command,
    args: fields.texts("args"),
    env: Object.fromEntries(env),
    apiVersion,
    installHint: fields.text("installHint"),
    provideClusterInfo: fields.flag("provideClusterInfo"),
    interactiveMode,
  };
}
