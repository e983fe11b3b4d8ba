type StringMap = Readonly<Record<string, string>>;

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}
interface Term {
  readonly matchExpressions?: readonly Requirement[];
}
export interface VolumeAffinity {
  readonly required?: { readonly nodeSelectorTerms?: readonly Term[] };
}

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
  affinity: VolumeAffinity | undefined,
  labels: StringMap,
  driver: DriverLabels,
): VolumeAffinity | undefined {
  const used = labelsUsed(affinity, labels);
  // Only a driver without a region label has regional disks, whose label lists several zones.
  const split = (text: string) => (driver.region ? [text] : text.split("__"));
  let result = withDriverKey(affinity, used.zone, driver.zone, labels, split);
  if (driver.region) result = withDriverKey(result, used.region, driver.region, labels, split);
  else if (used === betaLabels) result = renamed(result, betaLabels.region, gaLabels.region);
  return result;
}

function labelsUsed(affinity: VolumeAffinity | undefined, labels: StringMap): typeof gaLabels {
  for (const set of [gaLabels, betaLabels]) if (hasKey(affinity, set.zone)) return set;
  for (const set of [gaLabels, betaLabels]) if (set.zone in labels) return set;
  return gaLabels;
}

function withDriverKey(
  affinity: VolumeAffinity | undefined,
  key: string,
  driverKey: string,
  labels: StringMap,
  split: (text: string) => string[],
): VolumeAffinity | undefined {
  if (hasKey(affinity, key)) return renamed(affinity, key, driverKey);
  const labelValues = new Set(split(labels[key] ?? "").map((value) => value.trim()));
  const values = [...labelValues].filter(Boolean).sort((a, b) => (a < b ? -1 : 1));
  if (values.length === 0) return affinity;
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  const requirement = { key: driverKey, operator: "In", values };
  const narrowed = (terms.length > 0 ? terms : [{}]).map((term: Term) => ({
    ...term,
    matchExpressions: [...(term.matchExpressions ?? []), requirement],
  }));
  return { ...affinity, required: { ...affinity?.required, nodeSelectorTerms: narrowed } };
}

function hasKey(affinity: VolumeAffinity | undefined, key: string): boolean {
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.some((requirement) => requirement.key === key && (requirement.values ?? []).length > 0),
  );
}

function renamed(affinity: VolumeAffinity | undefined, from: string, to: string): VolumeAffinity | undefined {
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
