import { KubeletError } from "../../../lib/base/errors.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { QosClass } from "../../../lib/model/qos.ts";

export type CgroupDriver = "cgroupfs" | "systemd";

/** A cgroup by its path elements, independent of the driver: ["kubepods", "burstable", "pod<uid>"]. */
export type CgroupName = readonly string[];

const podPrefix = "pod";
const slice = ".slice";

/** "/a/b" -> ["a", "b"]; "" and "/" are the root, []. */
export function parseRoot(cgroupRoot: string): CgroupName {
  const parts = cgroupRoot.split("/").filter((part) => part !== "");
  if (parts.some((part) => part === "." || part === "..")) {
    throw new KubeletError("InvalidCgroup", `cgroupRoot: "${cgroupRoot}" must not contain "." or ".."`);
  }
  return parts;
}

/** The cgroup of all pods. Guaranteed pods are directly in it. */
export function podsCgroupName(cgroupRoot: string): CgroupName {
  return [...parseRoot(cgroupRoot), "kubepods"];
}

export function qosName(root: CgroupName, qos: QosClass): CgroupName {
  return qos === "Guaranteed" ? root : [...root, qos.toLowerCase()];
}

export function podName(root: CgroupName, qos: QosClass, uid: PodUid): CgroupName {
  return [...qosName(root, qos), checkPart(podPrefix + uid)];
}

/** The path below the cgroup mounts. */
export function toPath(name: CgroupName, driver: CgroupDriver): string {
  if (name.length === 0) return "/";
  return driver === "systemd" ? toSlices(name) : `/${name.join("/")}`;
}

/**
 * systemd writes the whole path into every slice: kubepods.slice/kubepods-burstable.slice. Its separator is "-", so a "-"
 * inside a part becomes "_".
 */
function toSlices(name: CgroupName): string {
  const escaped = name.map((part) => part.replaceAll("-", "_"));
  return `/${escaped.map((_, index) => `${escaped.slice(0, index + 1).join("-")}${slice}`).join("/")}`;
}

/** The name of the cgroup at a path. The last slice of systemd contains the whole name, so the path may omit its parents. */
export function parseName(path: string, driver: CgroupDriver): CgroupName {
  const parts = path.split("/").filter((part) => part !== "");
  if (driver === "cgroupfs") return parts;
  const last = parts.at(-1) ?? "";
  return (last.endsWith(slice) ? last.slice(0, -slice.length) : last)
    .split("-")
    .filter((part) => part !== "")
    .map((part) => part.replaceAll("_", "-"));
}

/** The cgroup of a direct subdirectory of a parent; undefined for directories that this driver does not produce. */
export function childName(parent: CgroupName, dir: string, driver: CgroupDriver): CgroupName | undefined {
  if (driver === "cgroupfs") return [...parent, dir];
  if (!dir.endsWith(slice)) return undefined;
  const name = parseName(dir, driver);
  return name.length > parent.length ? name : undefined;
}

/** The form of a name in messages: ["kubepods" "burstable"]. */
export function quotedName(name: CgroupName): string {
  return `[${name.map((part) => JSON.stringify(part)).join(" ")}]`;
}

/** The pod that has this cgroup; undefined for other cgroups. */
export function uidOf(name: CgroupName): PodUid | undefined {
  const last = name.at(-1);
  if (!last?.startsWith(podPrefix)) return undefined;
  const uid = last.slice(podPrefix.length);
  return uid === "" ? undefined : (uid as PodUid);
}

/** "_" would be converted back from the systemd form as "-"; "/" would be another cgroup. */
function checkPart(part: string): string {
  if (/[/_]/.test(part)) throw new KubeletError("InvalidCgroup", `"${part}" cannot be the name of a cgroup`);
  return part;
}
