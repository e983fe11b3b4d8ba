import { isObject } from "../base/json-value.ts";
import type { FeatureGates } from "./feature-gates.ts";
import {
  type KubeletConfiguration,
  kubeletFields,
  type PartialConfiguration,
} from "./kubelet-configuration.ts";
import type { Fields, Kind } from "./schema.ts";

/** Hard eviction thresholds of a node whose configuration file names none. */
export const defaultEvictionHard: Readonly<Record<string, string>> = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
};

const maxRestartPeriod = 300_000;

/** Sets defaults for everything that was not set. The input is not changed. */
export function withDefaults(partial: PartialConfiguration, gates: FeatureGates): KubeletConfiguration {
  const config = fillFields(kubeletFields, partial) as Partial<KubeletConfiguration> as KubeletConfiguration;
  // If only the update period is set, reports follow it.
  if (!partial.nodeStatusReportFrequency && partial.nodeStatusUpdateFrequency) {
    config.nodeStatusReportFrequency = partial.nodeStatusUpdateFrequency;
  }
  if (partial.serializeImagePulls === undefined) {
    config.serializeImagePulls = (partial.maxParallelImagePulls ?? 1) < 2;
  }
  if (config.podPidsLimit < 0) config.podPidsLimit = -1;
  if (gates.enabled("KubeletCrashLoopBackOffMax")) {
    config.crashLoopBackOff.maxContainerRestartPeriod ??= maxRestartPeriod;
  }
  if (gates.enabled("KubeletEnsureSecretPulledImages")) {
    config.imagePullCredentialsVerificationPolicy ||= "NeverVerifyPreloadedImages";
  }
  return config;
}

/** Defaults that apply only with a configuration file; drop-ins are merged later and may change them. */
export function withFileDefaults(partial: PartialConfiguration): PartialConfiguration {
  const { evictionHard, mergeDefaultEvictionSettings } = partial;
  if (!evictionHard) return { ...partial, evictionHard: { ...defaultEvictionHard } };
  if (!mergeDefaultEvictionSettings) return partial;
  return { ...partial, evictionHard: { ...defaultEvictionHard, ...evictionHard } };
}

/** Sets the old command-line defaults, which apply without a configuration file and are more permissive. */
export function withCommandLineDefaults(config: KubeletConfiguration): KubeletConfiguration {
  const result = structuredClone(config);
  result.authentication.anonymous.enabled = true;
  result.authentication.webhook.enabled = false;
  result.authorization.mode = "AlwaysAllow";
  result.readOnlyPort = 10255;
  return result;
}

function fillFields(fields: Fields, values: object): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = (values as Record<string, unknown>)[name];
    const unset = given === undefined || (field.presence !== "nullable" && isZero(given));
    const value = unset ? (structuredClone(field.default) ?? given) : given;
    if (value !== undefined || field.presence !== "nullable") result[name] = fill(field.type, value);
  }
  return result;
}

/** An empty list or map is intended; only scalars have a zero that means absent. */
function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false;
}

function fill(type: Kind, value: unknown): unknown {
  switch (type.kind) {
    case "bool":
      return value ?? false;
    case "int":
    case "float":
    case "duration":
      return value ?? 0;
    case "string":
      return value ?? "";
    case "quantity":
      return value ?? "0";
    case "list":
      return ((value ?? []) as unknown[]).map((item) => fill(type.of, item));
    case "map":
      return { ...(value ?? {}) };
    case "object":
      return fillFields(type.fields, isObject(value) ? value : {});
    default:
      return type satisfies never;
  }
}
