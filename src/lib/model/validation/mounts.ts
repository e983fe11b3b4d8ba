import { core } from "../../schema/types/core/core.ts";
import type { Container, Volume } from "../pod.ts";
import { descendingPath, noBacksteps } from "./paths.ts";
import type { Problems } from "./problem.ts";
import { oneOf } from "./security.ts";

const recursive = ["Disabled", "IfPossible", "Enabled"];

/** Volume mounts and block devices of one container: names and paths are unique among both. */
export function checkMounts(
  container: Container,
  at: string,
  volumes: ReadonlyMap<string, Volume>,
  problems: Problems,
): void {
  const paths = new Set<string>();
  const deviceNames = new Set((container.volumeDevices ?? []).map((device) => device.name));
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    const path = `${at}.volumeMounts[${i}]`;
    if (!mount.name) problems.required(`${path}.name`);
    else if (!volumes.has(mount.name)) problems.notFound(`${path}.name`, mount.name);
    else if (deviceNames.has(mount.name))
      problems.invalid(`${path}.name`, mount.name, "must not already exist in volumeDevices");
    if (!mount.mountPath) problems.required(`${path}.mountPath`);
    else if (paths.has(mount.mountPath))
      problems.invalid(`${path}.mountPath`, mount.mountPath, "must be unique");
    paths.add(mount.mountPath);
    if (mount.subPath) problems.check(`${path}.subPath`, mount.subPath, descendingPath(mount.subPath));
    if (mount.subPathExpr) {
      if (mount.subPath)
        problems.invalid(
          `${path}.subPathExpr`,
          mount.subPathExpr,
          "subPathExpr and subPath are mutually exclusive",
        );
      problems.check(`${path}.subPathExpr`, mount.subPathExpr, descendingPath(mount.subPathExpr));
    }
    checkPropagation(container, mount, path, problems);
  }
  checkDevices(container, at, volumes, paths, problems);
}

function checkPropagation(
  container: Container,
  mount: NonNullable<Container["volumeMounts"]>[number],
  at: string,
  problems: Problems,
): void {
  const { mountPropagation, recursiveReadOnly } = mount;
  oneOf(mountPropagation, core.values("MountPropagationMode"), `${at}.mountPropagation`, problems);
  if (mountPropagation === "Bidirectional" && container.securityContext?.privileged !== true)
    problems.forbidden(
      `${at}.mountPropagation`,
      "Bidirectional mount propagation is available only to privileged containers",
    );
  if (recursiveReadOnly === undefined || recursiveReadOnly === "Disabled") return;
  const path = `${at}.recursiveReadOnly`;
  if (!recursive.includes(recursiveReadOnly)) {
    problems.unsupported(path, recursiveReadOnly, recursive);
    return;
  }
  if (!mount.readOnly) problems.forbidden(path, "may only be specified when readOnly is true");
  if (mountPropagation !== undefined && mountPropagation !== "None")
    problems.forbidden(path, "may only be specified when mountPropagation is None or not specified");
}

function checkDevices(
  container: Container,
  at: string,
  volumes: ReadonlyMap<string, Volume>,
  mountPaths: ReadonlySet<string>,
  problems: Problems,
): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [i, { name, devicePath }] of (container.volumeDevices ?? []).entries()) {
    const path = `${at}.volumeDevices[${i}]`;
    const volume = volumes.get(name);
    if (!name) problems.required(`${path}.name`);
    else if (!volume) problems.notFound(`${path}.name`, name);
    else if (names.has(name)) problems.invalid(`${path}.name`, name, "must be unique");
    else if (!volume.persistentVolumeClaim && !volume.ephemeral)
      problems.invalid(
        `${path}.name`,
        name,
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
      );
    if (!devicePath) problems.required(`${path}.devicePath`);
    else if (paths.has(devicePath)) problems.invalid(`${path}.devicePath`, devicePath, "must be unique");
    else if (noBacksteps(devicePath).length > 0)
      problems.invalid(`${path}.devicePath`, devicePath, "can not contain backsteps ('..')");
    else if (mountPaths.has(devicePath))
      problems.invalid(`${path}.devicePath`, devicePath, "must not already exist as a path in volumeMounts");
    names.add(name);
    paths.add(devicePath);
  }
}
