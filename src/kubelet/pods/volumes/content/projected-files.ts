import { joinErrors, KubeletError } from "../../../../lib/base/errors.ts";
import type { Pod, Volume } from "../../../../lib/model/pod.ts";
import { downwardFiles } from "./downward-files.ts";
import { type ContentObjects, configMapFiles, secretFiles } from "./object-files.ts";
import type { ContentFile } from "./payload.ts";
import { type PodCertificates, podCertificatesUnsupported } from "./pod-certificates/pod-certificates.ts";
import type { ServiceAccountTokens } from "./tokens/service-account-tokens.ts";
import { type TrustBundles, trustBundlesUnsupported } from "./trust-bundles/cluster-trust-bundles.ts";

type Projected = NonNullable<Volume["projected"]>;
type Source = NonNullable<Projected["sources"]>[number];
type Files = Map<string, ContentFile>;

export interface ProjectionSources {
  readonly objects: ContentObjects;
  readonly tokens: Pick<ServiceAccountTokens, "get">;
  readonly trustBundles: TrustBundles | undefined;
  readonly certificates: Pick<PodCertificates, "get"> | undefined;
  readonly allocatable: () => Readonly<Record<string, string>>;
}

export interface Projection {
  readonly pod: Pod;
  /** The name of the volume. */
  readonly volume: string;
  readonly sources: readonly Source[];
  readonly mode: number;
  /** The user that all containers run as, if it is the same one. */
  readonly user: number | undefined;
  readonly fsGroup: number | undefined;
  readonly signal: AbortSignal;
}

/** The files of all sources. If two have the same path, the later one is used. Reports all errors together. */
export async function projectedFiles(from: ProjectionSources, projection: Projection): Promise<Files> {
  const results = await Promise.allSettled(
    projection.sources.map((source, index) => sourceFiles(from, projection, source, index)),
  );
  const files: Files = new Map();
  const errors: unknown[] = [];
  for (const result of results) {
    if (result.status === "rejected") errors.push(result.reason);
    else for (const [path, file] of result.value) files.set(path, file);
  }
  if (errors.length > 0) throw joinErrors(errors);
  return files;
}

async function sourceFiles(
  from: ProjectionSources,
  projection: Projection,
  source: Source,
  index: number,
): Promise<Files> {
  const { pod, mode, signal } = projection;
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  const { namespace } = pod.metadata;
  const object = ({ name = "", items, optional }: NonNullable<Source["secret"]>) => {
    return { namespace, name, items, optional, mode, signal };
  };
  if (secret) return secretFiles(from.objects, object(secret));
  if (configMap) return configMapFiles(from.objects, object(configMap));
  if (downwardAPI) return downwardFiles(downwardAPI.items, { pod, allocatable: from.allocatable() }, mode);
  if (serviceAccountToken) return tokenFile(from, projection, serviceAccountToken);
  if (clusterTrustBundle) return trustFile(from, projection, clusterTrustBundle);
  if (podCertificate) return certificateFiles(from, projection, podCertificate, index);
  const kind = Object.keys(source)[0];
  if (!kind) return new Map();
  throw new KubeletError("Projection", `projected volumes with a ${kind} are not supported`);
}

async function tokenFile(
  { tokens }: ProjectionSources,
  projection: Projection,
  { audience, expirationSeconds, path }: NonNullable<Source["serviceAccountToken"]>,
): Promise<Files> {
  const { pod, signal } = projection;
  const audiences = audience ? [audience] : [];
  const { token } = await tokens.get(pod, { audiences, expirationSeconds }, signal);
  return new Map([[path, restricted(Buffer.from(token), projection)]]);
}

async function trustFile(
  { trustBundles }: ProjectionSources,
  projection: Projection,
  source: NonNullable<Source["clusterTrustBundle"]>,
): Promise<Files> {
  if (!trustBundles) throw trustBundlesUnsupported();
  const { name, signerName, labelSelector, optional = false, path } = source;
  if (name === undefined && signerName === undefined)
    throw new KubeletError(
      "Projection",
      "ClusterTrustBundle projection requires either name or signerName to be set",
    );
  const text =
    name === undefined
      ? await trustBundles.bySigner(signerName ?? "", labelSelector, optional, projection.signal)
      : await trustBundles.byName(name, optional, projection.signal);
  return new Map([[path, restricted(Buffer.from(text), projection)]]);
}

function certificateFiles(
  { certificates }: ProjectionSources,
  projection: Projection,
  source: NonNullable<Source["podCertificate"]>,
  index: number,
): Files {
  if (!certificates) throw podCertificatesUnsupported();
  const { pod, volume } = projection;
  const { privateKey, certificateChain } = certificates.get(pod, volume, index, source);
  const contents: [path: string | undefined, text: string][] = [
    [source.credentialBundlePath, privateKey + certificateChain],
    [source.keyPath, privateKey],
    [source.certificateChainPath, certificateChain],
  ];
  const files: Files = new Map();
  for (const [path, text] of contents) if (path) files.set(path, restricted(Buffer.from(text), projection));
  return files;
}

/** If the reader is known, no one else may read the file; the writer adds the group's permissions. */
function restricted(data: Buffer, { mode, user, fsGroup }: Projection): ContentFile {
  return { data, mode: user === undefined && fsGroup === undefined ? mode : 0o600, user };
}
