import type { FeatureName } from "./feature-gate-table.ts";
import { flagTable } from "./flags/table.ts";

/** Configuration fields, and the flags that set them, that change how kubelet v1.36 works and have no effect here (ADR 60). */
export const fieldsWithoutEffect: ReadonlySet<string> = new Set([
  "contentType",
  "enableContentionProfiling",
  "runOnce",
]);

/** Flags without a field that change how kubelet v1.36 works and have no effect here (ADR 60). */
export const flagsWithoutEffect: ReadonlySet<string> = new Set([
  "application-metrics-count-limit",
  "container-hints",
  "containerd",
  "containerd-namespace",
  "enable-load-reader",
  "global-housekeeping-interval",
  "housekeeping-interval",
  "log-cadvisor-usage",
]);

/** Gates that change how kubelet v1.36 works on Linux and have no effect here (ADR 52). Gates that only other components read are not listed. */
export const gatesWithoutEffect: ReadonlySet<FeatureName> = new Set([
  "AtomicFIFO",
  "ClientsAllowCBOR",
  "ClientsPreferCBOR",
  "InOrderInformersBatchProcess",
  "UnlockWhileProcessingFIFO",
]);

/**
 * One line that names everything that was set and has no effect yet, or none. `gates` are those with another value than their
 * default.
 */
export function notImplemented(
  flags: Iterable<string>,
  fields: Iterable<string>,
  gates: Iterable<string> = [],
): string | undefined {
  const without: ReadonlySet<string> = gatesWithoutEffect;
  const ignored = [
    ...[...new Set(flags)].filter(hasNoEffect).map((name) => `--${name}`),
    ...[...new Set(fields)].filter((name) => fieldsWithoutEffect.has(name)).map((name) => `config ${name}`),
    ...[...gates].filter((name) => without.has(name)).map((name) => `feature gate ${name}`),
  ];
  return ignored.length > 0 ? `accepted but not implemented yet: ${ignored.join(", ")}` : undefined;
}

function hasNoEffect(flag: string): boolean {
  const target = flagTable.get(flag)?.target;
  return target?.in === "config"
    ? fieldsWithoutEffect.has(target.path.join("."))
    : flagsWithoutEffect.has(flag);
}
