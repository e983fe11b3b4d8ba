import { dnsLabel } from "../../base/name-rules.ts";
import { core } from "../../schema/types/core/core.ts";
import type { PodSpec, Volume } from "../pod.ts";
import { parseQuantity } from "../quantity.ts";
import { checkFieldRef, checkResourceFieldRef, volumeFields } from "./env.ts";
import { checkIscsi } from "./iscsi.ts";
import { descendingPath, noBacksteps, volumeFilePath } from "./paths.ts";
import type { Problems } from "./problem.ts";
import { oneOf } from "./security.ts";

type Items = { key?: string; path?: string; mode?: number }[] | undefined;
type DownwardItems = NonNullable<Volume["downwardAPI"]>["items"];
type Projection = NonNullable<NonNullable<Volume["projected"]>["sources"]>[number];

/** The required fields of each volume type. */
const needed: Record<string, string[]> = {
  hostPath: ["path"],
  gitRepo: ["repository"],
  gcePersistentDisk: ["pdName"],
  awsElasticBlockStore: ["volumeID"],
  secret: ["secretName"],
  configMap: ["name"],
  nfs: ["server", "path"],
  iscsi: ["targetPortal", "iqn"],
  glusterfs: ["endpoints", "path"],
  persistentVolumeClaim: ["claimName"],
  rbd: ["monitors", "image"],
  flexVolume: ["driver"],
  cinder: ["volumeID"],
  cephfs: ["monitors"],
  azureFile: ["secretName", "shareName"],
  vsphereVolume: ["volumePath"],
  quobyte: ["registry", "volume"],
  azureDisk: ["diskName", "diskURI"],
  photonPersistentDisk: ["pdID"],
  portworxVolume: ["volumeID"],
  scaleIO: ["gateway", "system", "volumeName"],
  csi: ["driver"],
  ephemeral: ["volumeClaimTemplate"],
  image: ["reference"],
};

/** Checks the volumes and returns them by name. */
export function checkVolumes(spec: PodSpec, problems: Problems): Map<string, Volume> {
  const byName = new Map<string, Volume>();
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    const at = `spec.volumes[${i}]`;
    if (!volume.name) problems.required(`${at}.name`);
    else if (byName.has(volume.name)) problems.duplicate(`${at}.name`, volume.name);
    else problems.check(`${at}.name`, volume.name, dnsLabel(volume.name));
    if (volume.name) byName.set(volume.name, volume);
    checkSource(volume, at, problems);
  }
  return byName;
}

function checkSource(volume: Volume, at: string, problems: Problems): void {
  const sources = core.struct("VolumeSource")!.fields;
  const [kind, ...more] = Object.keys(volume).filter((key) => sources.has(key));
  if (kind === undefined) {
    problems.required(at, "must specify a volume type");
    return;
  }
  for (const extra of more) problems.forbidden(`${at}.${extra}`, "may not specify more than 1 volume type");
  const source = volume[kind as keyof Volume] as Record<string, unknown>;
  const path = `${at}.${kind}`;
  for (const field of needed[kind] ?? []) {
    if (isMissing(source[field])) problems.required(`${path}.${field}`);
  }
  checkMode(source.defaultMode, `${path}.defaultMode`, problems);
  const { emptyDir, hostPath, nfs, secret, configMap, downwardAPI, projected, image } = volume;
  if (emptyDir?.sizeLimit !== undefined && (parseQuantity(emptyDir.sizeLimit) ?? -1n) < 0n)
    problems.forbidden(`${path}.sizeLimit`, "SizeLimit field must be a valid resource quantity");
  if (hostPath?.path) {
    problems.check(`${path}.path`, hostPath.path, noBacksteps(hostPath.path));
    oneOf(hostPath.type ?? "", core.values("HostPathType"), `${path}.type`, problems);
  }
  if (nfs?.path && !nfs.path.startsWith("/"))
    problems.invalid(`${path}.path`, nfs.path, "must be an absolute path");
  if (volume.iscsi) checkIscsi(volume.iscsi, { name: volume.name ?? "", at, isPod: true }, problems);
  if (volume.gitRepo?.directory)
    problems.check(`${path}.directory`, volume.gitRepo.directory, descendingPath(volume.gitRepo.directory));
  if (image?.pullPolicy) oneOf(image.pullPolicy, core.values("PullPolicy"), `${path}.pullPolicy`, problems);
  checkItems(secret?.items ?? configMap?.items, `${path}.items`, problems);
  checkDownwardItems(downwardAPI?.items, `${path}.items`, problems);
  if (projected) checkProjections(projected.sources ?? [], `${path}.sources`, problems);
}

function checkProjections(sources: Projection[], at: string, problems: Problems): void {
  const paths = new Set<string>();
  const addPath = (path: string | undefined, where: string) => {
    if (!path) return;
    if (paths.has(path)) problems.invalid(where, path, "conflicting duplicate paths");
    paths.add(path);
  };
  for (const [i, source] of sources.entries()) {
    const kinds = Object.keys(source);
    if (kinds.length > 1)
      problems.forbidden(`${at}[${i}]`, "may not specify more than 1 volume type per source");
    for (const kind of ["secret", "configMap"] as const) {
      const object = source[kind];
      if (!object) continue;
      if (!object.name) problems.required(`${at}[${i}].${kind}.name`);
      checkItems(object.items, `${at}[${i}].${kind}.items`, problems);
      for (const [j, item] of (object.items ?? []).entries())
        addPath(item.path, `${at}[${i}].${kind}.items[${j}].path`);
    }
    checkDownwardItems(source.downwardAPI?.items, `${at}[${i}].downwardAPI.items`, problems);
    for (const [j, item] of (source.downwardAPI?.items ?? []).entries())
      addPath(item.path, `${at}[${i}].downwardAPI.items[${j}].path`);
    if (source.serviceAccountToken)
      checkToken(source.serviceAccountToken, `${at}[${i}].serviceAccountToken`, problems);
    for (const path of [source.serviceAccountToken?.path, source.clusterTrustBundle?.path])
      addPath(path, `${at}[${i}]`);
    if (source.podCertificate) {
      checkPodCertificate(source.podCertificate, `${at}[${i}].podCertificate`, problems);
      for (const field of ["credentialBundlePath", "keyPath", "certificateChainPath"] as const)
        addPath(source.podCertificate[field], at);
    }
  }
}

function checkToken(
  token: NonNullable<Projection["serviceAccountToken"]>,
  at: string,
  problems: Problems,
): void {
  const seconds = token.expirationSeconds ?? 0;
  if (seconds < 600)
    problems.invalid(`${at}.expirationSeconds`, seconds, "may not specify a duration less than 10 minutes");
  if (seconds > 2 ** 32)
    problems.invalid(
      `${at}.expirationSeconds`,
      seconds,
      "may not specify a duration larger than 2^32 seconds",
    );
  if (!token.path) problems.required(`${at}.path`);
  else problems.check(`${at}.path`, token.path, volumeFilePath(token.path));
}

const certificateKeys = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
const minCertificateSeconds = 3600;
const maxCertificateSeconds = 91 * 24 * 3600;
/** The limit for the signers of Kubernetes itself. */
const maxKubernetesSeconds = 24 * 3600;

function checkPodCertificate(
  source: NonNullable<Projection["podCertificate"]>,
  at: string,
  problems: Problems,
): void {
  const { signerName, keyType, maxExpirationSeconds: seconds } = source;
  if (isMissing(signerName)) problems.required(`${at}.signerName`);
  if (!certificateKeys.includes(keyType)) problems.unsupported(`${at}.keyType`, keyType, certificateKeys);
  const most = signerName?.startsWith("kubernetes.io/") ? maxKubernetesSeconds : maxCertificateSeconds;
  const beyond = (limit: string) =>
    problems.invalid(
      `${at}.maxExpirationSeconds`,
      seconds,
      `if provided, maxExpirationSeconds must be ${limit}`,
    );
  if (seconds !== undefined && seconds < minCertificateSeconds) beyond(`>= ${minCertificateSeconds}`);
  if (seconds !== undefined && seconds > most) beyond(`<= ${most}`);
  const paths = (["credentialBundlePath", "keyPath", "certificateChainPath"] as const).filter(
    (field) => source[field],
  );
  for (const field of paths) {
    const path = source[field] ?? "";
    problems.check(`${at}.${field}`, path, volumeFilePath(path));
  }
  if (paths.length === 0)
    problems.required(at, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
}

function checkItems(items: Items, at: string, problems: Problems): void {
  for (const [i, item] of (items ?? []).entries()) {
    if (isMissing(item.key)) problems.required(`${at}[${i}].key`);
    checkItemPath(item, `${at}[${i}]`, problems);
  }
}

function checkDownwardItems(items: DownwardItems, at: string, problems: Problems): void {
  for (const [i, item] of (items ?? []).entries()) {
    const path = `${at}[${i}]`;
    checkItemPath(item, path, problems);
    if (item.fieldRef && item.resourceFieldRef)
      problems.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
    if (item.fieldRef) checkFieldRef(item.fieldRef, volumeFields, `${path}.fieldRef`, problems);
    else if (item.resourceFieldRef)
      checkResourceFieldRef(item.resourceFieldRef, true, `${path}.resourceFieldRef`, problems);
    else problems.required(path, "one of fieldRef and resourceFieldRef is required");
  }
}

function checkItemPath(item: { path?: string; mode?: number }, at: string, problems: Problems): void {
  if (!item.path) problems.required(`${at}.path`);
  else problems.check(`${at}.path`, item.path, volumeFilePath(item.path));
  checkMode(item.mode, `${at}.mode`, problems);
}

function checkMode(mode: unknown, at: string, problems: Problems): void {
  if (typeof mode === "number" && (mode < 0 || mode > 0o777))
    problems.invalid(at, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}
