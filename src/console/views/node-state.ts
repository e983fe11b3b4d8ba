import { X509Certificate } from "node:crypto";
import { podRequests } from "../../lib/model/resources.ts";
import type { ConsoleNode, ConsoleNodeState } from "../console-node.ts";
import type { Condition, Health, NodeState } from "../protocol.ts";
import { amount, timeOf, units } from "./amounts.ts";

export interface NodeFacts {
  readonly node: ConsoleNode;
  readonly now: number;
  /** Used amounts by resource. */
  readonly used: Readonly<Record<string, number | null>>;
  readonly images: NodeState["images"];
  readonly agent: { readonly cpu: number | null; readonly memory: number | null };
  readonly viewers: number;
  /** PEM. */
  readonly clientCertificate?: string | undefined;
}

const expiryWarningMs = 7 * 24 * 3_600_000;

export function nodeState(facts: NodeFacts): NodeState {
  const { node, now, used, images, agent, viewers, clientCertificate: client } = facts;
  const state = node.state();
  const all = [...state.certificates, ...(client ? [{ name: "client", certificate: client } as const] : [])];
  const certificates = all.flatMap((each) => certificate(each, now));
  const worst: Health = state.notReady.length > 0 ? "error" : state.pressure.length > 0 ? "warning" : "ok";
  const { lastEviction, runtime, api } = state;
  return {
    name: node.name,
    health: worst === "ok" && certificates.some(({ health }) => health !== "ok") ? "warning" : worst,
    cause: state.cause,
    conditions: conditions(state),
    thresholds: state.thresholds.map((t) => ({
      signal: t.signal,
      kind: t.kind,
      value: t.value,
      met: t.met,
      threshold: t.threshold ?? null,
      available: t.available ?? null,
      capacity: t.capacity ?? null,
      evictsInSeconds: t.evictsInSeconds ?? null,
    })),
    lastEviction: lastEviction && { ...lastEviction, at: timeOf(lastEviction.at) ?? 0 },
    resources: resources(state, node, used),
    versions: node.versions,
    addresses: state.addresses,
    runtime: { ...runtime, problem: runtime.problem ?? null },
    api: api
      ? {
          state: api.problem === undefined ? "connected" : "disconnected",
          server: api.server,
          problem: api.problem ?? null,
        }
      : { state: "none", server: "", problem: null },
    certificates,
    images,
    agent: { pid: process.pid, startedAt: node.startedAt, ...agent, viewers },
    bootedAt: node.bootedAt,
  };
}

function conditions({ notReady, pressure, published }: ConsoleNodeState): Condition[] {
  const one = (type: string, isTrue: boolean, reason: string, message: string): Condition => {
    const status = isTrue ? "True" : "False";
    // A change is published later: until then its time is not known.
    const same = published.find((condition) => condition.type === type && condition.status === status);
    return {
      type,
      status,
      reason: reason || (same?.reason ?? ""),
      message: message || (same?.message ?? ""),
      since: timeOf(same?.lastTransitionTime),
    };
  };
  return [
    one(
      "Ready",
      notReady.length === 0,
      notReady.length === 0 ? "KubeletReady" : "KubeletNotReady",
      notReady.join("; "),
    ),
    ...["MemoryPressure", "DiskPressure", "PIDPressure"].map((type) =>
      one(type, pressure.includes(type), "", ""),
    ),
  ];
}

function resources(
  { capacity, allocatable }: ConsoleNodeState,
  node: ConsoleNode,
  used: NodeFacts["used"],
): NodeState["resources"] {
  const requested = new Map<string, number>();
  const pods = node.activePods();
  for (const pod of pods)
    for (const [name, nano] of podRequests(pod))
      requested.set(name, (requested.get(name) ?? 0) + units(nano));
  requested.set("pods", pods.length);
  return Object.keys(capacity).map((name) => ({
    name,
    capacity: amount(capacity[name]),
    allocatable: amount(allocatable[name]),
    requested: requested.get(name) ?? 0,
    used: name === "pods" ? pods.length : (used[name] ?? null),
  }));
}

function certificate(
  { name, certificate: pem }: ConsoleNodeState["certificates"][number],
  now: number,
): NodeState["certificates"] {
  try {
    const { subject, validFrom, validTo } = new X509Certificate(pem);
    const [notBefore, notAfter] = [Date.parse(validFrom), Date.parse(validTo)];
    const health = now > notAfter ? "error" : notAfter - now < expiryWarningMs ? "warning" : "ok";
    return [{ name, subject: subject.replaceAll("\n", ", "), notBefore, notAfter, health }];
  } catch {
    return [];
  }
}
