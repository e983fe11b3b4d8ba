import { KubeletError } from "../../../../lib/base/errors.ts";
import { isHost, isIPv6Address } from "../tools/network-names.ts";
import type { IscsiDisk } from "./iscsi-disk.ts";

/** As upstream validates it; "/" is excluded, because the name is part of paths of iscsiadm and udev. */
const targetName =
  /^(iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|/\\\s\p{Cc}]+|eui\.[A-Za-z0-9]{16}|naa\.[A-Za-z0-9]{32})$/u;
/** A file in the directory of the interfaces of iscsiadm. */
const interfaceName = /^[A-Za-z0-9_][A-Za-z0-9_.:@-]*$/;
const maxLun = 255;

/** Throws unless each field is valid: the fields become arguments of iscsiadm and parts of paths. */
export function checkDisk(disk: IscsiDisk): void {
  const reject = (field: string, value: unknown, why: string): never => {
    throw new KubeletError("Iscsi", `iscsi: invalid ${field} ${JSON.stringify(value)}: ${why}`);
  };
  for (const portal of disk.Portals)
    if (!isPortal(portal)) reject("portal", portal, "must be a host name or an IP address, and a port");
  if (!targetName.test(disk.Iqn))
    reject("iqn", disk.Iqn, "must be valid format starting with iqn, eui, or naa");
  if (!/^\d{1,3}$/.test(disk.Lun) || Number(disk.Lun) > maxLun)
    reject("lun", disk.Lun, `must be between 0 and ${maxLun}, inclusive`);
  if (!interfaceName.test(disk.InitIface))
    reject("iscsiInterface", disk.InitIface, "must be the name of an interface of iscsiadm");
  if (disk.InitiatorName && !isInitiatorName(disk.InitiatorName))
    reject("initiatorName", disk.InitiatorName, "must be valid format starting with iqn, eui, or naa");
  if (/[/\s*\p{Cc}]/u.test(disk.VolName))
    reject("volume name", disk.VolName, "must be the name of an object");
}

function isInitiatorName(name: string): boolean {
  return targetName.test(name);
}

function isPortal(portal: string): boolean {
  const [, address, host, port = ""] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(portal) ?? [];
  if (Number(port) < 1 || Number(port) > 65_535) return false;
  return address !== undefined ? isIPv6Address(address) : host !== undefined && isHost(host);
}

/** A value of the CHAP secret. iscsiadm writes it to a file of lines; that one ends with a newline is a common mistake. */
export function chapValue(key: string, value: string): string {
  const text = value.replace(/\r?\n$/, "");
  if (/\p{Cc}/u.test(text))
    throw new KubeletError("Iscsi", `iscsi: the value of ${key} in the secret contains control characters`);
  return text;
}
