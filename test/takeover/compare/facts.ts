/** One kind of what a node shows, as values by name, without what differs between two runs of one kubelet. */
export type Facts = Readonly<Record<string, string>>;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Replaces the identities of one run: UIDs, container IDs, addresses and generated names. */
export type Anonymize = (text: string) => string;

interface IdentifiedPod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly status?: {
    readonly podIP?: string;
    readonly hostIP?: string;
    readonly initContainerStatuses?: readonly IdentifiedContainer[];
    readonly containerStatuses?: readonly IdentifiedContainer[];
  };
}
interface IdentifiedContainer {
  readonly name: string;
  readonly containerID?: string;
}

const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

export function anonymizer(pods: readonly IdentifiedPod[]): Anonymize {
  const names = new Map<string, string>();
  for (const { metadata, status } of pods) {
    const uids = [metadata.uid, metadata.annotations?.["kubernetes.io/config.hash"]];
    for (const uid of uids) {
      if (!uid) continue;
      names.set(uid, `{${metadata.name}}`);
      // As in the name of a slice of systemd.
      names.set(uid.replaceAll("-", "_"), `{${metadata.name}}`);
    }
    for (const { name, containerID } of [
      ...(status?.initContainerStatuses ?? []),
      ...(status?.containerStatuses ?? []),
    ])
      if (containerID) names.set(containerID.replace(/^.*:\/\//, ""), `{${metadata.name}/${name}}`);
    if (status?.hostIP) names.set(status.hostIP, "{node IP}");
    if (status?.podIP && status.podIP !== status.hostIP) names.set(status.podIP, "{pod IP}");
  }
  // The longest first: one address may begin with another.
  const known = [...names].filter(([from]) => from !== "").sort(([a], [b]) => b.length - a.length);
  return (text) =>
    known
      .reduce((all, [from, to]) => all.replaceAll(from, to), text)
      .replace(time, "{time}")
      .replace(/\b[0-9a-f]{64}\b/g, "{id}")
      // The ID of the machine.
      .replace(/\b[0-9a-f]{32}\b/g, "{machine}")
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "{uid}")
      .replace(/\bt-\d+-\d+\b/g, "{node}")
      .replace(/\b(?:registry\.k8s\.io|docker\.io)\/[\w./-]*busybox:[\w.-]+/g, "{image}")
      // The file for termination messages.
      .replace(/(\/containers\/[^/\s"]+\/)[0-9a-f]{8}\b/g, "$1{random}")
      .replace(/(kube-api-access)-\w{5}\b/g, "$1")
      .replace(/\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+/g, "..{time}");
}

/**
 * The leaves of a JSON value by path. The items of a list are named by `name`, `type` or a similar field, or numbered. Without null and empty
 * lists: some servers write them for absent fields.
 */
export function leaves(value: Json, path = ""): Record<string, string> {
  if (value === null) return {};
  if (typeof value !== "object") return { [path]: JSON.stringify(value) };
  const entries: [string, Json][] = Array.isArray(value)
    ? value.map((item, at) => [`[${nameOf(item) ?? at}]`, item])
    : Object.entries(value as Record<string, Json>).map(([key, item]) => [`.${key}`, item]);
  if (entries.length === 0) return Array.isArray(value) ? {} : { [path]: "{}" };
  return Object.assign({}, ...entries.map(([key, item]) => leaves(item, path + key)));
}

function nameOf(item: Json): string | undefined {
  if (item === null || typeof item !== "object" || Array.isArray(item)) return undefined;
  const of = item as { readonly [key: string]: Json } & { readonly podRef?: { readonly name?: Json } };
  const found = of.name ?? of.type ?? of.containerPath ?? of.key ?? of.podRef?.name;
  return typeof found === "string" ? found : undefined;
}

export interface Difference {
  readonly name: string;
  /** Undefined if only the other node has it. */
  readonly expected: string | undefined;
  readonly actual: string | undefined;
}

/** Two numbers count as equal if they differ by at most this fraction of the expected one. */
export interface Tolerance {
  readonly relative: number;
}

export function differences(expected: Facts, actual: Facts, tolerance?: Tolerance): Difference[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(actual)])].sort();
  return names
    .filter((name) => !isEqual(expected[name], actual[name], tolerance))
    .map((name) => ({ name, expected: expected[name], actual: actual[name] }));
}

function isEqual(
  expected: string | undefined,
  actual: string | undefined,
  tolerance: Tolerance | undefined,
): boolean {
  if (expected === actual) return true;
  if (expected === undefined || actual === undefined || !tolerance) return false;
  const [a, b] = [Number(expected), Number(actual)];
  return Math.abs(a - b) <= Math.abs(a) * tolerance.relative;
}

/** A difference that is intended or belongs to the machine. All patterns have to match. */
export interface Accepted {
  readonly name: RegExp;
  /** Has to match the value, or "-" if there is no value. */
  readonly expected?: RegExp;
  readonly actual?: RegExp;
  readonly why: string;
}

export function unexplained(found: readonly Difference[], accepted: readonly Accepted[]): string[] {
  const matches = (pattern: RegExp | undefined, value: string | undefined) =>
    pattern?.test(value ?? "-") ?? true;
  return found
    .filter(
      ({ name, expected, actual }) =>
        !accepted.some(
          (one) => one.name.test(name) && matches(one.expected, expected) && matches(one.actual, actual),
        ),
    )
    .map(({ name, expected = "-", actual = "-" }) => `${name}: ${actual} instead of ${expected}`);
}
