import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { PodExplanation } from "../kubelet/explain/pod-explanation.ts";
import { matchesNode, nodeMismatch } from "../kubelet/pods/admission/node-affinity.ts";
import { insufficientMessage, insufficientResources } from "../kubelet/pods/admission/resources-fit.ts";
import { taintText, untoleratedTaint } from "../kubelet/pods/admission/taints.ts";
import { systemClock } from "../lib/base/clock.ts";
import { silentLogger } from "../lib/base/logger.ts";
import { loadKubeconfig } from "../lib/clients/kube/kubeconfig.ts";
import { HttpKubeTransport } from "../lib/clients/kube/transport.ts";
import type { Taint } from "../lib/gen/kubernetes/core.d.ts";
import type { Pod } from "../lib/model/pod.ts";

/** The parts of the node that the scheduler considers. */
export interface SchedulerNode {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly taints?: readonly Taint[] };
  readonly status?: { readonly allocatable?: Readonly<Record<string, string>> };
}

const timeoutMs = 2000;

/**
 * Pods in the embedded API that are not scheduled, because they do not fit the node. Empty without an embedded API or if it does not
 * respond: decisions of a cluster's scheduler are not explained.
 */
export async function unscheduledPods(socketPath: string): Promise<PodExplanation[]> {
  const kubeconfig = join(dirname(dirname(socketPath)), "kubeconfig");
  if (!existsSync(kubeconfig)) return [];
  const access = await loadKubeconfig(kubeconfig).catch(() => undefined);
  if (!access) return [];
  const api = new HttpKubeTransport({
    access,
    userAgent: "kubelet-explain",
    qps: 0,
    burst: 0,
    clock: systemClock,
    logger: silentLogger,
  });
  try {
    const get = <T>(path: string, query = {}) =>
      api.request<{ items: T[] }>({ method: "GET", path, query, timeoutMs });
    const { items } = await get<Pod>("/api/v1/pods", { fieldSelector: "spec.nodeName=" });
    if (items.length === 0) return [];
    const [node] = (await get<SchedulerNode>("/api/v1/nodes")).items;
    return items.map((pod) => explainUnscheduled(pod, node));
  } catch {
    return [];
  } finally {
    api.close();
  }
}

export function explainUnscheduled(pod: Pod, node: SchedulerNode | undefined): PodExplanation {
  const { namespace, name, uid, creationTimestamp } = pod.metadata;
  return {
    namespace,
    name,
    uid,
    source: "api",
    phase: pod.status?.phase ?? "Pending",
    ready: false,
    seenAt: new Date(String(creationTimestamp)).toISOString(),
    cause: causeOf(pod, node),
    raw: null,
    try: `lower its requests, or change what does not fit: kubectl describe pod ${name} -n ${namespace}`,
    failedAt: null,
    waitsFor: null,
    details: [],
    lastError: null,
    start: null,
    history: [],
    dropped: 0,
  };
}

function causeOf(pod: Pod, node: SchedulerNode | undefined): string {
  const gates = pod.spec.schedulingGates ?? [];
  if (gates.length > 0) return `SchedulingGated: ${gates.map((gate) => gate.name).join(", ")}`;
  const condition = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (condition?.status !== "False") return `waiting for scheduler ${pod.spec.schedulerName ?? ""}`.trim();
  const detail = node && filterFailure(pod, node);
  return [condition.reason, condition.message?.replace(/\.$/, ""), detail].filter(Boolean).join(": ");
}

/** The label, taint or amount that does not fit; the scheduler's message only has the number of nodes. */
function filterFailure(pod: Pod, { metadata, spec, status }: SchedulerNode): string | undefined {
  const taint = untoleratedTaint(pod, spec?.taints ?? [], { effects: ["NoSchedule", "NoExecute"] });
  if (taint) return `taint ${taintText(taint)}`;
  const node = { name: metadata.name, labels: metadata.labels ?? {} };
  if (!matchesNode(pod, node)) return nodeMismatch(pod, node);
  const fit = { allocatable: status?.allocatable ?? {}, others: [], podLevelResources: true };
  const [missing] = insufficientResources(pod, fit);
  return missing && insufficientMessage(missing);
}
