import type { NodeExplanation } from "../../kubelet/explain/explain-node.ts";
import { printable } from "../../lib/base/terminal-text.ts";
import { nodeExplanationLines } from "../node-explanation-lines.ts";
import { nodeLimit, nodeNote } from "./explain.ts";
import type { ApiReader } from "./kubectl.ts";

/** The parts of a Node object that show why it is not ready. */
export interface ApiNode {
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

export interface WhyNode {
  readonly node: string;
  readonly cause: string | null;
  readonly explanation: NodeExplanation | null;
  readonly notes: readonly string[];
}

/** Queries the kubelet of the node, and the API server. */
export async function whyNode(kubectl: ApiReader, name: string): Promise<WhyNode> {
  const path = `/api/v1/nodes/${encodeURIComponent(name)}`;
  const node = await kubectl.get<ApiNode>(path);
  const scheduling = schedulingNotes(node);
  try {
    const explanation = await kubectl.get<NodeExplanation>(`${path}/proxy/debug/blocked?node`, nodeLimit);
    return { node: name, cause: explanation.cause, explanation, notes: scheduling };
  } catch (error) {
    const notes = [...scheduling, nodeNote(name, error)];
    return { node: name, cause: nodeCause(node), explanation: null, notes };
  }
}

/** The cause as `kubelet explain node` writes it. */
function nodeCause({ status }: ApiNode): string | null {
  const causes = (status?.conditions ?? []).flatMap(({ type, status: value, reason, message }) => {
    const text = message || reason || "";
    if (type === "Ready") return value === "True" ? [] : [`not ready: ${text}`];
    // All other conditions of a node name a problem.
    return value === "True" ? [`${type}: ${text}`] : [];
  });
  return causes.length > 0 ? causes.join("; ") : null;
}

function schedulingNotes({ metadata, spec }: ApiNode): string[] {
  const taints = (spec?.taints ?? [])
    .filter(({ effect, key }) => effect !== "PreferNoSchedule" && !key.startsWith("node.kubernetes.io/"))
    .map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`);
  return [
    ...(spec?.unschedulable
      ? [`no new pods are scheduled to it: it is cordoned (kubectl uncordon ${metadata.name})`]
      : []),
    ...(taints.length > 0 ? [`only pods that tolerate these taints run on it: ${taints.join(", ")}`] : []),
  ];
}

export function nodeLines({ node, cause, explanation, notes }: WhyNode): string[] {
  const head = explanation
    ? nodeExplanationLines(explanation)
    : [`${node}  ${cause ?? "no condition reports a problem, and the node is ready"}`];
  return [...head, ...notes.map((note) => `  ${note}`)].map(printable);
}
