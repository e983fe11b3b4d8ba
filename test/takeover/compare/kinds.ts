import { parsePrometheus } from "../../metrics/prometheus-text.ts";
import { type Anonymize, type Facts, type Json, leaves } from "./facts.ts";

/** The objects, pages and files of a node as they were read. */
export interface Observation {
  readonly node: Json;
  readonly pods: readonly Json[];
  readonly events: readonly ObservedEvent[];
  readonly summary: Json;
  /** By path of the endpoint. */
  readonly metrics: Readonly<Record<string, string>>;
  /** "path file value" of each interface file. */
  readonly cgroups: readonly string[];
  /** The lines of /proc/self/mountinfo. */
  readonly mounts: readonly string[];
  /** "path type mode". */
  readonly files: readonly string[];
  /** The output of iptables-save and ip6tables-save. */
  readonly iptables: readonly string[];
  readonly cri: readonly CriCall[];
}

export interface ObservedEvent {
  readonly reason: string;
  readonly type: string;
  readonly message: string;
  readonly source?: { readonly component?: string };
  readonly involvedObject: { readonly kind: string; readonly name: string; readonly fieldPath?: string };
}

export interface CriCall {
  readonly method: string;
  readonly request: Json;
}

export const kinds = [
  "node object",
  "pod statuses",
  "events",
  "/stats/summary",
  "metrics",
  "cgroup files",
  "mounts",
  "files and modes",
  "iptables",
  "CRI requests",
] as const;
export type Kind = (typeof kinds)[number];
/** Where a node is observed: on an isolated host of this machine, or in a guest with cgroup v2 and systemd. */
export type Place = "host" | "guest";
export type AllFacts = Readonly<Record<Kind, Facts>>;

export function factsOf(observed: Observation, anonymize: Anonymize): AllFacts {
  return {
    "node object": nodeFacts(observed.node, anonymize),
    "pod statuses": Object.assign({}, ...observed.pods.map((pod) => podFacts(pod, anonymize))),
    events: eventFacts(observed.events, anonymize),
    "/stats/summary": summaryFacts(observed.summary),
    metrics: Object.assign(
      {},
      ...Object.entries(observed.metrics).map(([path, text]) => metricFacts(path, text, anonymize)),
    ),
    "cgroup files": listFacts(observed.cgroups, anonymize),
    mounts: mountFacts(observed.mounts, anonymize),
    "files and modes": listFacts(observed.files, anonymize),
    iptables: iptablesFacts(observed.iptables),
    "CRI requests": criFacts(observed.cri, anonymize),
  };
}

const anonymous = (value: Json, anonymize: Anonymize) => JSON.parse(anonymize(JSON.stringify(value))) as Json;
const ofType = (value: string) => typeof JSON.parse(value);

/** Fields that state what the machine is: only their presence and type is compared. */
const machineFields =
  /^\.(?:status\.(?:capacity|allocatable|nodeInfo|images|daemonEndpoints|addresses|runtimeHandlers|features|declaredFeatures)|metadata\.labels|spec\.podCIDR)/;
const serverFields =
  /^\.(?:apiVersion|kind)$|^\.metadata\.(?:uid|resourceVersion|managedFields|creationTimestamp|generation)/;

export function nodeFacts(node: Json, anonymize: Anonymize): Facts {
  const facts: Record<string, string> = {};
  for (const [path, value] of Object.entries(leaves(anonymous(node, anonymize)))) {
    if (serverFields.test(path)) continue;
    if (path.startsWith(".status.images")) facts[".status.images"] = "list";
    else facts[path] = machineFields.test(path) ? ofType(value) : value;
  }
  return facts;
}

/** Statuses only: the specification is what the test has created. */
export function podFacts(pod: Json, anonymize: Anonymize): Facts {
  const { metadata, status } = anonymous(pod, anonymize) as {
    metadata: { name: string };
    status: Json;
  };
  const found = Object.entries(leaves(status, metadata.name));
  const numbers = (value: string) => value.replace(/\b(used|capacity): \d+/g, "$1: {number}");
  return Object.fromEntries(
    found.filter(([path]) => !path.endsWith(".restartCount")).map(([path, value]) => [path, numbers(value)]),
  );
}

/** How often each of them was sent depends on the moment. */
export function eventFacts(events: readonly ObservedEvent[], anonymize: Anonymize): Facts {
  return Object.fromEntries(
    events
      .filter(({ source }) => source?.component === "kubelet")
      .map(({ reason, type, message, involvedObject: { kind, name, fieldPath = "" } }) => [
        anonymize(`${kind} ${name} ${fieldPath} ${type} ${reason}: ${message}`)
          .replace(/\b\d+(?:\.\d+)?(?:ms|s)\b/g, "{duration}")
          .replace(/\b(used|capacity): \d+/g, "$1: {number}"),
        "sent",
      ]),
  );
}

/** The presence and type of each field, and capacities. Other values change from moment to moment. */
export function summaryFacts(summary: Json): Facts {
  const facts: Record<string, string> = {};
  for (const [path, value] of Object.entries(leaves(summary))) {
    // Network interfaces of the host may have any name.
    if (/\.interfaces\[(?!eth0\])/.test(path)) continue;
    facts[path.replace(/(kube-api-access)-\w{5}\b/g, "$1")] = /\.capacityBytes$/.test(path)
      ? value
      : ofType(value);
  }
  return facts;
}

/** The type and label names of each metric; the values of those that state a setting or a capacity. */
export function metricFacts(endpoint: string, text: string, anonymize: Anonymize): Facts {
  const facts: Record<string, string> = {};
  for (const { name, type, samples } of parsePrometheus(text).values()) {
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
    facts[`${endpoint} ${name}`] = `${type} {${[...labels].sort().join()}}`;
    for (const sample of samples)
      if (settings.test(name) || (name === "container_fs_limit_bytes" && sample.labels.id === "/"))
        facts[anonymize(`${endpoint} ${name}${JSON.stringify(sample.labels)}`)] = String(sample.value);
  }
  return facts;
}

/** Settings, capacities, and counts that are the same as long as pods stay as they are. */
const settings =
  /^(?:kubernetes_feature_enabled|kubelet_(?:cgroup_version|node_name|(?:active|desired|mirror|running)_pods|managed_ephemeral_containers|admission_rejections_total|started_pods_total)|volume_manager_total_volumes|cadvisor_version_info|machine_\w+|container_spec_(?:cpu|memory)_\w+)$/;

/** Splits each line into a name and a value: "name value", or "path name value", whose value may contain spaces. */
export function listFacts(lines: readonly string[], anonymize: Anonymize): Facts {
  return Object.fromEntries(
    lines.map((line) => {
      const [path = "", name = "", ...rest] = anonymize(line).split(" ");
      return rest.length === 0 ? [path, name] : [`${path} ${name}`, rest.join(" ")];
    }),
  );
}

/** Mounts of volumes: filesystem and options by path below the directory of the pods. */
export function mountFacts(lines: readonly string[], anonymize: Anonymize): Facts {
  const facts: Record<string, string> = {};
  for (const line of lines) {
    const [before = "", after = ""] = anonymize(line).split(" - ");
    const [, , , , path = "", options = ""] = before.split(" ");
    const [, below] = /\/pods\/(\{.*)$/.exec(path) ?? [];
    if (below === undefined) continue;
    const [type = "", , superOptions = ""] = after.split(" ");
    // Without a limit, the size is what the node can allocate.
    const size = superOptions.replace(/\bsize=\d{7,}k/, "size={allocatable}");
    const isTmpfs = type === "tmpfs" && !below.includes("/volume-subpaths/");
    facts[below] = isTmpfs ? `tmpfs ${options} ${size}` : `bind ${options}`;
  }
  return facts;
}

export function iptablesFacts(outputs: readonly string[]): Facts {
  const facts: Record<string, string> = {};
  for (const [index, output] of outputs.entries()) {
    let table = "";
    for (const line of output.split("\n")) {
      if (line.startsWith("*")) table = line.slice(1);
      else if (/^(?::KUBE-|-A (?:KUBE-|\w+ .*-j KUBE-))/.test(line))
        facts[`${index === 0 ? "iptables" : "ip6tables"} ${table} ${line.replace(/ \[\d+:\d+\]$/, "")}`] =
          "set";
    }
  }
  return facts;
}

/** The requests that change pods, by method and pod; the last of equal ones counts. Containers repeat the configuration of their sandbox. */
export function criFacts(calls: readonly CriCall[], anonymize: Anonymize): Facts {
  const facts: Record<string, string> = {};
  const sandboxes = new Map<string | undefined, string>();
  for (const { method, request } of calls) {
    if (!/^(?:RunPodSandbox|CreateContainer)$/.test(method)) continue;
    const found = anonymous(request, anonymize) as {
      config?: { metadata?: { name?: string } };
      sandboxConfig?: { metadata?: { name?: string } };
    };
    const pod = (found.sandboxConfig ?? found.config)?.metadata?.name;
    const container = found.sandboxConfig ? ` ${found.config?.metadata?.name}` : "";
    // The entries of maps have no order.
    const sandbox = JSON.stringify(
      Object.entries(leaves((found.sandboxConfig ?? found.config) as Json)).sort(),
    );
    const shown = sandboxes.get(pod) === sandbox ? { ...found, sandboxConfig: "as created" } : found;
    if (!found.sandboxConfig) sandboxes.set(pod, sandbox);
    Object.assign(facts, leaves(shown as Json, `${method} ${pod}${container} `));
  }
  return facts;
}
