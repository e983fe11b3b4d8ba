import { dateOf, type WallTime } from "../../../lib/base/time.ts";
import type { Taint } from "../../../lib/gen/kubernetes/core.d.ts";
import { isCritical } from "../../../lib/model/critical-pod.ts";
import { isStatic, type Pod, podRef } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import { podQos } from "../../../lib/model/qos.ts";
import { hasPodLevelResources } from "../../../lib/model/resources.ts";
import { requiredFeatures } from "./declared-features.ts";
import { conflictingHostPort } from "./host-ports.ts";
import { matchesNode, type NodeIdentity, nodeMismatch } from "./node-affinity.ts";
import { type FitContext, insufficientMessage, insufficientResources } from "./resources-fit.ts";
import { forbiddenSysctl, type SysctlAllowlist } from "./sysctls.ts";
import { taintText, untoleratedTaint } from "./taints.ts";

const memoryPressure = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };

const annotationPrefix = "container.apparmor.security.beta.kubernetes.io/";

/** Properties and resources of the node that decide whether a pod may run here. */
export interface AdmissionContext extends FitContext {
  readonly node: NodeIdentity;
  readonly taints?: readonly Taint[];
  /** TaintTolerationComparisonOperators: tolerations may compare numbers. */
  readonly comparesTaints?: boolean | undefined;
  readonly sysctls: SysctlAllowlist;
  /** The conditions of the node, and in one line what caused them. */
  readonly pressure?: { readonly conditions: readonly string[]; readonly cause: string } | undefined;
  /** When a shutdown of the machine was announced; undefined if there is none. */
  readonly shutdown?: { readonly since: WallTime | undefined } | undefined;
  /** True if the runtime supports supplementalGroupsPolicy: Strict. */
  readonly supplementalGroupsPolicy: boolean;
  /** The declared features of the node; undefined if it declares none, and then none are required. */
  readonly declaredFeatures?: readonly string[] | undefined;
  /** One line for explanations about a resource that is missing. */
  readonly describe?: (resource: string) => string | undefined;
  /** True if the kernel enforces AppArmor profiles. */
  readonly appArmor: boolean;
}

interface Rejection {
  readonly reason: string;
  readonly message: string;
  readonly detail?: string;
}

const os = "linux";
const osLabel = "kubernetes.io/os";

/** Undefined if the pod may run here. For a critical pod, resources are not checked. The first failed check decides. */
function rejectionOf(pod: Pod, ctx: AdmissionContext): Rejection | undefined {
  const { declaredFeatures, pressure } = ctx;
  if (pressure && isRejectedUnder(pressure.conditions, pod, ctx.comparesTaints))
    return { reason: "Evicted", message: pressureMessage(pressure.conditions), detail: pressure.cause };
  const missing =
    declaredFeatures && requiredFeatures(pod).filter((name) => !declaredFeatures.includes(name));
  if (missing && missing.length > 0) {
    const message = `Pod requires node features that are not available: ${missing.join(", ")}`;
    return { reason: "PodFeatureUnsupported", message };
  }
  const sysctl = forbiddenSysctl(pod, ctx.sysctls);
  if (sysctl) return { reason: "SysctlForbidden", message: sysctl };
  const rejection = unsupportedByNode(pod, ctx) ?? failedPredicate(pod, ctx);
  if (rejection) return rejection;
  // A pod that already ran here is not checked again.
  if (needsAppArmor(pod) && !ctx.appArmor && (pod.status?.phase ?? "Pending") === "Pending") {
    const message = "Cannot enforce AppArmor: AppArmor is not enabled on the host";
    return { reason: "AppArmor", message };
  }
  if (hasPodLevelResources(pod) && !ctx.podLevelResources) {
    const message = "PodLevelResources feature gate is disabled";
    return { reason: "PodLevelResourcesNotSupported", message };
  }
  const since = ctx.shutdown?.since;
  if (since !== undefined) {
    const message = "Pod was rejected as the node is shutting down.";
    return { reason: "NodeShutdown", message, detail: `shutdown since ${dateOf(since).toISOString()}` };
  }
  return undefined;
}

/** Returns the result of `rejectionOf` as a failure for the status of the pod. */
export function admitPod(pod: Pod, ctx: AdmissionContext): PodFailure | undefined {
  const rejection = rejectionOf(pod, ctx);
  if (!rejection) return undefined;
  return { phase: "Failed", ...rejection, message: `Pod was rejected: ${rejection.message}` };
}

function unsupportedByNode(pod: Pod, ctx: AdmissionContext): Rejection | undefined {
  const podOs = pod.metadata.labels?.[osLabel];
  if (podOs !== undefined && podOs !== os)
    return {
      reason: "PodOSSelectorNodeLabelDoesNotMatch",
      message: `Failed to admit pod as the \`${osLabel}\` label doesn't match node label`,
    };
  if (pod.spec.os && pod.spec.os.name !== os)
    return {
      reason: "PodOSNotSupported",
      message: "Failed to admit pod as the OS field doesn't match node OS",
    };
  if (pod.spec.securityContext?.supplementalGroupsPolicy === "Strict" && !ctx.supplementalGroupsPolicy)
    return {
      reason: "SupplementalGroupsPolicyNotSupported",
      message: "SupplementalGroupsPolicy=Strict is not supported in this node",
    };
  return undefined;
}

function failedPredicate(pod: Pod, ctx: AdmissionContext): Rejection | undefined {
  // A critical pod preempts others, if there is no other reason to reject it.
  const [missing] = isCritical(pod) ? [] : insufficientResources(pod, ctx);
  if (missing) {
    const detail = ctx.describe?.(missing.resource);
    return {
      reason: `OutOf${missing.resource}`,
      message: insufficientMessage(missing),
      ...(detail !== undefined && { detail }),
    };
  }
  if (!matchesNode(pod, ctx.node))
    return predicate(
      "NodeAffinity",
      "node(s) didn't match Pod's node affinity/selector",
      nodeMismatch(pod, ctx.node),
    );
  if (pod.spec.nodeName && pod.spec.nodeName !== ctx.node.name)
    return predicate(
      "NodeName",
      "node(s) didn't match the requested node name",
      `nodeName ${pod.spec.nodeName}: the node is ${ctx.node.name}`,
    );
  const conflict = conflictingHostPort(pod, ctx.others);
  if (conflict)
    return predicate(
      "NodePorts",
      "node(s) didn't have free ports for the requested pod ports",
      `hostPort ${conflict.port}/${conflict.protocol} is used by pod ${podRef(conflict.by)}`,
    );
  const taint = isStatic(pod)
    ? undefined
    : untoleratedTaint(pod, ctx.taints ?? [], { compares: ctx.comparesTaints ?? false });
  if (taint)
    return predicate(
      "TaintToleration",
      "node(s) had taints that the pod didn't tolerate",
      `taint ${taintText(taint)}`,
    );
  return undefined;
}

function predicate(reason: string, why: string, detail: string): Rejection {
  return { reason, message: `Predicate ${reason} failed: ${why}`, detail };
}

/** True if the pod or one of its containers has an AppArmor profile. */
function needsAppArmor(pod: Pod): boolean {
  const { securityContext, initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const contexts = [
    securityContext,
    ...[...initContainers, ...containers, ...ephemeralContainers].map((c) => c.securityContext),
  ];
  if (contexts.some((c) => c?.appArmorProfile && c.appArmorProfile.type !== "Unconfined")) return true;
  return Object.entries(pod.metadata.annotations ?? {}).some(
    ([key, value]) => key.startsWith(annotationPrefix) && value !== "unconfined",
  );
}

/**
 * True if the conditions of the node do not allow this pod. Critical pods are always allowed; if only memory is low, pods that request
 * some, and those that tolerate it.
 */
function isRejectedUnder(conditions: readonly string[], pod: Pod, compares = false): boolean {
  if (conditions.length === 0 || isCritical(pod)) return false;
  if (conditions.some((type) => type !== "MemoryPressure")) return true;
  const effects = ["NoSchedule"];
  return (
    podQos(pod) === "BestEffort" &&
    untoleratedTaint(pod, [memoryPressure], { effects, compares }) !== undefined
  );
}

function pressureMessage(conditions: readonly string[]): string {
  return `The node had condition: [${conditions.join(" ")}]. `;
}
