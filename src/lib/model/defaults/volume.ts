import type { Volume } from "../pod.ts";
import { defaultPullPolicy, roundResources } from "./container.ts";

const defaultFileMode = 0o644;

type Mode = { defaultMode?: number };
type ImageVolume = Volume & { image?: { reference?: string; pullPolicy?: string } };

export function defaultVolume(volume: ImageVolume): void {
  if (Object.keys(volume).every((key) => key === "name")) volume.emptyDir = {};
  for (const source of [volume.secret, volume.configMap, volume.downwardAPI, volume.projected] as (
    | Mode
    | undefined
  )[])
    if (source) source.defaultMode ??= defaultFileMode;
  if (volume.hostPath) volume.hostPath.type ??= "";
  if (volume.image) volume.image.pullPolicy ||= defaultPullPolicy(volume.image.reference ?? "");
  defaultDownwardItems(volume.downwardAPI?.items);
  for (const source of volume.projected?.sources ?? []) {
    defaultDownwardItems(source.downwardAPI?.items);
    if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= 3600;
  }
  defaultClaimTemplate(volume);
  defaultNetworkDisk(volume);
}

type DownwardItems = NonNullable<Volume["downwardAPI"]>["items"];

function defaultDownwardItems(items: DownwardItems): void {
  for (const item of items ?? []) {
    if (item.fieldRef) item.fieldRef.apiVersion ||= "v1";
    if (item.resourceFieldRef) item.resourceFieldRef.divisor ??= "0";
  }
}

function defaultClaimTemplate(volume: Volume): void {
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (!claim) return;
  claim.volumeMode ??= "Filesystem";
  roundResources(claim.resources ?? {});
}

function defaultNetworkDisk({ iscsi, rbd, azureDisk, scaleIO }: Volume): void {
  if (iscsi) iscsi.iscsiInterface ||= "default";
  if (rbd) {
    rbd.pool ||= "rbd";
    rbd.user ||= "admin";
    rbd.keyring ||= "/etc/ceph/keyring";
  }
  if (azureDisk) {
    azureDisk.cachingMode ??= "ReadWrite";
    azureDisk.fsType ??= "ext4";
    azureDisk.readOnly ??= false;
    azureDisk.kind ??= "Shared";
  }
  if (scaleIO) {
    scaleIO.storageMode ||= "ThinProvisioned";
    scaleIO.fsType ||= "xfs";
  }
}
