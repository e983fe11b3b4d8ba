import type { NodeSelectorTerm, VolumeNodeAffinity } from "../../../../lib/gen/kubernetes/core.d.ts";

type StringMap = Readonly<Record<string, string>>;

/** The topology labels of a driver. */
export interface DriverLabels {
  readonly zone: string;
  readonly region: string | undefined;
}

const gaLabels = { zone: "topology.kubernetes.io/zone", region: "topology.kubernetes.io/region" };
const betaLabels = {
  zone: "failure-domain.beta.kubernetes.io/zone",
  region: "failure-domain.beta.kubernetes.io/region",
};

/**
 * Translates the node affinity of a volume to the labels of its driver. The affinity takes precedence over the labels of the volume,
 * which are used for old volumes without affinity.
 */
export function withDriverLabels(
  affinity: VolumeNodeAffinity | undefined,
  labels: StringMap,
  driver: DriverLabels,
): VolumeNodeAffinity | undefined {
  const used = labelsUsed(affinity, labels);
  // Only a driver without a region label has regional disks, whose label lists several zones.
  const split = (text: string) => (driver.region ? [text] : text.split("__"));
  let result = withDriverKey(affinity, used.zone, driver.zone, labels, split);
  if (driver.region) result = withDriverKey(result, used.region, driver.region, labels, split);
  else if (used === betaLabels) result = renamed(result, betaLabels.region, gaLabels.region);
  return result;
}

function labelsUsed(affinity: VolumeNodeAffinity | undefined, labels: StringMap): typeof gaLabels {
  for (const set of [gaLabels, betaLabels]) if (hasKey(affinity, set.zone)) return set;
  for (const set of [gaLabels, betaLabels]) if (set.zone in labels) return set;
  return gaLabels;
}

function withDriverKey(
  affinity: VolumeNodeAffinity | undefined,
  key: string,
  driverKey: string,
  labels: StringMap,
  split: (text: string) => string[],
): VolumeNodeAffinity | undefined {
  if (hasKey(affinity, key)) return renamed(affinity, key, driverKey);
  const labelValues = new Set(split(labels[key] ?? "").map((value) => value.trim()));
  const values = [...labelValues].filter(Boolean).sort((a, b) => (a < b ? -1 : 1));
  if (values.length === 0) return affinity;
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  const requirement = { key: driverKey, operator: "In", values };
  const narrowed = (terms.length > 0 ? terms : [{}]).map((term: NodeSelectorTerm) => ({
    ...term,
    matchExpressions: [...(term.matchExpressions ?? []), requirement],
  }));
  return { ...affinity, required: { ...affinity?.required, nodeSelectorTerms: narrowed } };
}

function hasKey(affinity: VolumeNodeAffinity | undefined, key: string): boolean {
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.some((requirement) => requirement.key === key && (requirement.values ?? []).length > 0),
  );
}

function renamed(
  affinity: VolumeNodeAffinity | undefined,
  from: string,
  to: string,
): VolumeNodeAffinity | undefined {
  const terms = affinity?.required?.nodeSelectorTerms;
  if (!terms) return affinity;
  const nodeSelectorTerms = terms.map((term) => ({
    ...term,
    ...(term.matchExpressions && {
      matchExpressions: term.matchExpressions.map((requirement) =>
        requirement.key === from ? { ...requirement, key: to } : requirement,
      ),
    }),
  }));
  return { ...affinity, required: { ...affinity.required, nodeSelectorTerms } };
}
