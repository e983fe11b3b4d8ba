import type { FeatureGates } from "../feature-gates.ts";
import { type KubeletConfiguration, kubeletFields } from "../kubelet-configuration.ts";
import type { Path, Problem } from "../problems.ts";
import type { Fields, Kind } from "../schema.ts";
import { evictionProblems } from "./eviction.ts";
import { gatedProblems } from "./gated.ts";
import { limitProblems } from "./limits.ts";
import { reservationProblems } from "./reservations.ts";
import { settingProblems } from "./settings.ts";
import { tlsProblems } from "./tls.ts";

/** All problems of a complete configuration, independent of the host. */
export function validateConfiguration(config: KubeletConfiguration, gates: FeatureGates): Problem[] {
  return [
    ...gates.problems(),
    ...enumProblems(kubeletFields, config),
    ...limitProblems(config),
    ...settingProblems(config),
    ...gatedProblems(config, gates),
    ...evictionProblems(config),
    ...reservationProblems(config),
    ...tlsProblems(config),
  ];
}

/** Its problems on this host. */
export function validateForHost(config: KubeletConfiguration, host: { cgroupVersion: 1 | 2 }): Problem[] {
  if (host.cgroupVersion === 2) return [];
  const problems: Problem[] = [];
  if (config.failCgroupV1) {
    const message = "this host has cgroup v1; set failCgroupV1 to false (--fail-cgroupv1=false) to run on it";
    problems.push({ path: ["failCgroupV1"], message });
  }
  if (config.singleProcessOOMKill === false) {
    problems.push({ path: ["singleProcessOOMKill"], message: "cannot be false on a host with cgroup v1" });
  }
  if (config.memorySwap.swapBehavior === "LimitedSwap") {
    const message = '"LimitedSwap" needs cgroup v2, and this host has cgroup v1';
    problems.push({ path: ["memorySwap", "swapBehavior"], message });
  }
  return problems;
}

/** Enum fields with a value that the schema does not list. */
function enumProblems(fields: Fields, values: object, path: Path = []): Problem[] {
  return Object.entries(fields).flatMap(([name, field]) =>
    check(field.type, (values as Record<string, unknown>)[name], [...path, name]),
  );
}

function check(type: Kind, value: unknown, path: Path): Problem[] {
  if (value === undefined) return [];
  if (type.kind === "object") return enumProblems(type.fields, value as object, path);
  if (type.kind !== "string" || !type.oneOf || type.oneOf.includes(value as string)) return [];
  const allowed = type.oneOf.map((name) => JSON.stringify(name)).join(", ");
  return [{ path, message: `${JSON.stringify(value)} is not one of ${allowed}` }];
}
