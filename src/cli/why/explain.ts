import { explainPod } from "../../kubelet/explain/explain-pod.ts";
import type { PodExplanation } from "../../kubelet/explain/pod-explanation.ts";
import type { Explanations } from "../../kubelet/explain/pod-explanations.ts";
import { ConcurrencyLimiter } from "../../lib/base/concurrency-limiter.ts";
import { isKubeletError, messageOf } from "../../lib/base/errors.ts";
import type { Pod } from "../../lib/model/pod.ts";
import { isTerminalPhase } from "../../lib/model/pod-phase.ts";
import { readinessOf } from "../../lib/model/readiness.ts";
import { explainUnscheduled, type SchedulerNode } from "../unscheduled-pods.ts";
import type { ApiReader } from "./kubectl.ts";
import { kubeletUid, type PodEvent, podFromApi } from "./pod-from-api.ts";

/** Which pods: one, or those of a namespace or of all that are not ready. */
export interface PodTarget {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export interface WhyPods {
  readonly at: string;
  readonly pods: (PodExplanation & { readonly nodeName: string })[];
  /** Why some are explained by the API server only. */
  readonly notes: readonly string[];
}

type NodeAnswer = { readonly pods: ReadonlyMap<string, PodExplanation> } | { readonly note: string };

/** kubectl and the API server wait for a node without a limit. */
export const nodeLimit = { timeoutS: 10 };
/** Each call is a process. */
const parallelCalls = 16;

/** Gets the explanations of the nodes, and explains the other pods from what the API server has. */
export async function whyPods(reader: ApiReader, target: PodTarget, now = Date.now()): Promise<WhyPods> {
  const { namespace, name } = target;
  const calls = new ConcurrencyLimiter(parallelCalls);
  const kubectl: ApiReader = { get: (path, limit) => calls.run(() => reader.get(path, limit)) };
  const all = pathOf(namespace);
  const found =
    name === undefined
      ? (await listPods(kubectl, namespace)).filter(needsExplanation)
      : [await kubectl.get<Pod>(`${all}/pods/${segment(name)}`)];
  const nodes = [...new Set(found.flatMap(({ spec }) => spec.nodeName ?? []))];
  const answers = new Map(
    await Promise.all(
      nodes.map(
        async (node) =>
          [node, await queryNode(kubectl, node, name && found[0] && kubeletUid(found[0]))] as const,
      ),
    ),
  );
  const explainedBy = (pod: Pod) => {
    const answer = answers.get(pod.spec.nodeName ?? "");
    return answer && "pods" in answer ? answer.pods.get(kubeletUid(pod)) : undefined;
  };
  const others = found.filter((pod) => pod.spec.nodeName && !explainedBy(pod));
  const rejected = [...new Set(others.filter(wasRejected).map(({ spec }) => String(spec.nodeName)))];
  const nodeObjects = new Map(
    await Promise.all(rejected.map(async (node) => [node, await nodeObject(kubectl, node)] as const)),
  );
  const events =
    others.length > 0 ? await eventsOf(kubectl, all, name && others[0] && kubeletUid(others[0])) : [];
  const pods = found.map((pod) => {
    const explanation = pod.spec.nodeName
      ? (explainedBy(pod) ??
        explainPod(podFromApi(pod, ofPod(events, pod), now, nodeObjects.get(pod.spec.nodeName))))
      : explainUnscheduled(pod, undefined);
    return { ...explanation, nodeName: pod.spec.nodeName ?? "" };
  });
  const notes = [...answers.values()].flatMap((answer) => ("note" in answer ? [answer.note] : []));
  return { at: new Date(now).toISOString(), pods, notes };
}

/** An API server lists no pods of a namespace that does not exist. */
async function listPods(kubectl: ApiReader, namespace: string | undefined): Promise<Pod[]> {
  const { items } = await kubectl.get<{ items: Pod[] }>(`${pathOf(namespace)}/pods`);
  if (items.length === 0 && namespace !== undefined)
    await kubectl.get(pathOf(namespace)).catch((error: unknown) => {
      if (codeOf(error) === "NotFound") throw error;
    });
  return items;
}

function pathOf(namespace: string | undefined): string {
  return namespace === undefined ? "/api/v1" : `/api/v1/namespaces/${segment(namespace)}`;
}

function needsExplanation(pod: Pod): boolean {
  return (
    pod.status?.phase === "Failed" ||
    (!isTerminalPhase(pod.status?.phase) &&
      !(pod.metadata.deletionTimestamp === undefined && pod.status && readinessOf(pod, pod.status).isReady))
  );
}

function wasRejected({ status }: Pod): boolean {
  return status?.reason === "NodeAffinity" || status?.reason === "TaintToleration";
}

/** Undefined if the user may not read it, or the node is gone. */
function nodeObject(kubectl: ApiReader, name: string): Promise<SchedulerNode | undefined> {
  return kubectl.get<SchedulerNode>(`/api/v1/nodes/${segment(name)}`).catch(() => undefined);
}

/** The explanations of a node for its pods, by UID, or why there are none. */
async function queryNode(kubectl: ApiReader, node: string, uid: string | undefined): Promise<NodeAnswer> {
  const path = `/api/v1/nodes/${segment(node)}/proxy/debug/blocked`;
  try {
    const { pods } = await kubectl.get<Explanations>(uid ? `${path}?pod=${segment(uid)}` : path, nodeLimit);
    return { pods: new Map(pods.map((pod) => [pod.uid, pod])) };
  } catch (error) {
    // 404 is also the response for a pod that this kubelet does not have (yet).
    if (uid && codeOf(error) === "NotFound" && "pods" in (await queryNode(kubectl, node, undefined)))
      return { pods: new Map() };
    return { note: nodeNote(node, error) };
  }
}

/** Why the kubelet of a node does not explain. */
export function nodeNote(node: string, error: unknown): string {
  switch (codeOf(error)) {
    case "NotFound":
      return `the kubelet of node ${node} has no explanations: this is from the status and the events`;
    case "Forbidden":
      return `you may not get nodes/proxy, so node ${node} was not queried: this is from the status and the events`;
    default:
      return `node ${node} does not respond (${problemOf(error)}): this is from the status and the events`;
  }
}

/** kubectl reports its own time limit as if the API server did not respond. */
function problemOf(error: unknown): string {
  const text = messageOf(error);
  return /Client\.Timeout|deadline exceeded/.test(text) ? "timeout" : text;
}

async function eventsOf(kubectl: ApiReader, all: string, uid: string | undefined): Promise<PodEvent[]> {
  const selector = uid ? `involvedObject.uid=${uid}` : "involvedObject.kind=Pod";
  const path = `${all}/events?fieldSelector=${encodeURIComponent(selector)}`;
  // A user who may read pods may not always read events: the status is enough for a part of the answer.
  return (await kubectl.get<{ items: PodEvent[] }>(path).catch(() => ({ items: [] }))).items;
}

function ofPod(events: readonly PodEvent[], pod: Pod): PodEvent[] {
  return events.filter(({ involvedObject }) => involvedObject.uid === kubeletUid(pod));
}

function codeOf(error: unknown): string | undefined {
  return isKubeletError(error) ? error.code : undefined;
}

function segment(name: string): string {
  return encodeURIComponent(name);
}
