import type { Node } from "../../lib/gen/kubernetes/core.d.ts";
import { compareText } from "../patch/text-order.ts";
import { ageColumn, column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

type NodeView = Node & Named;

const rolePrefix = "node-role.kubernetes.io/";
const wide = { wide: true } as const;
const info = (node: NodeView) => node.status?.nodeInfo;

export const nodeTable = tableDefinition<NodeView>([
  nameColumn,
  column("Status", "Whether the node is ready, and whether it is schedulable.", status),
  column("Roles", "The roles of the node, from its labels.", (node) => roles(node) || "<none>"),
  ageColumn,
  column("Version", "The version of the node's kubelet.", (node) => info(node)?.kubeletVersion ?? ""),
  column("Internal-IP", "The internal address of the node.", (node) => addressOf(node, "InternalIP"), wide),
  column("External-IP", "The external address of the node.", (node) => addressOf(node, "ExternalIP"), wide),
  column(
    "OS-Image",
    "The operating system that the node reports.",
    (node) => info(node)?.osImage || "<unknown>",
    wide,
  ),
  column("Kernel-Version", "The node's kernel and its architecture.", kernel, wide),
  column(
    "Container-Runtime",
    "The container runtime of the node, and its version.",
    (node) => info(node)?.containerRuntimeVersion || "<unknown>",
    wide,
  ),
]);

function status(node: NodeView): string {
  const ready = node.status?.conditions?.findLast((condition) => condition.type === "Ready");
  const readiness = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return node.spec?.unschedulable ? `${readiness},SchedulingDisabled` : readiness;
}

function roles(node: NodeView): string {
  const found = new Set<string>();
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    const role = key.startsWith(rolePrefix)
      ? key.slice(rolePrefix.length)
      : key === "kubernetes.io/role" && value;
    if (role) found.add(role);
  }
  return [...found].sort(compareText).join(",");
}

function addressOf(node: NodeView, type: string): string {
  return node.status?.addresses?.find((address) => address.type === type)?.address ?? "<none>";
}

function kernel(node: NodeView): string {
  const version = info(node)?.kernelVersion || "<unknown>";
  const architecture = info(node)?.architecture;
  return architecture ? `${version} (${architecture})` : version;
}
