import { existsSync, readFileSync } from "node:fs";
import { arch, release } from "node:os";
import { msFromNow } from "../../../lib/base/clock.ts";
import { isCritical } from "../../../lib/model/critical-pod.ts";
import { isExtendedResourceName } from "../../../lib/model/extended-resource.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { Admission } from "../../../lib/model/pod-sync.ts";
import { type AdmissionContext, admitPod } from "./admit.ts";
import { CriticalPods, type CriticalPodsOptions } from "./critical-pods.ts";
import { safeSysctls, sysctlAllowlist } from "./sysctls.ts";

export interface PodAdmissionOptions extends CriticalPodsOptions {
  nodeName: string;
  /** Current taints, and labels in addition to the default ones. */
  labelsAndTaints?: () => { labels: Readonly<Record<string, string>>; taints: AdmissionContext["taints"] };
  allocatable: Readonly<Record<string, string>>;
  /** The allocatable resources in the API, among them extended ones that other writers added to the node. */
  apiAllocatable?: () => Readonly<Record<string, string>>;
  /** Resources of device plugins, which change while the agent runs. */
  devices?: {
    /** The resources that the fit counts. The devices of other resources are allocated after it. */
    fitAmounts(): Readonly<Record<string, string>>;
    /** One line for explanations: how many devices there are, and which pods use them. */
    describe(resource: string): string | undefined;
  };
  cpus: number;
  maxPods: number;
  /** 0 for no such limit. */
  podsPerCore: number;
  allowedUnsafeSysctls: readonly string[];
  podLevelResources: boolean;
  extendedResourcesByDra?: boolean;
  /** Depends on what the runtime last reported. */
  declaredFeatures: () => AdmissionContext["declaredFeatures"];
  comparesTaints?: boolean;
  runtime: { supplementalGroupsPolicy(): boolean | undefined };
  /** Which resources of the node are low. */
  pressure?: AdmissionContext["pressure"];
  /** Whether the machine is about to shut down. */
  shutdown?: AdmissionContext["shutdown"];
  /** All desired pods that have not terminated, perhaps including this one. */
  activePods: () => readonly Pod[];
}

/** A preempted pod is terminated as soon as that is recorded on disk. */
const preemptionMs = 10_000;

export interface PodAdmission {
  /** Whether a new pod may run here. */
  readonly admit: (pod: Pod) => Admission;
  /** Why a pod of this node cannot have the resources of its spec now. */
  readonly rejectResize: (pod: Pod) => Pick<PodFailure, "reason" | "message"> | undefined;
}

/**
 * Decides which pods may run here. Throws if allowedUnsafeSysctls has an invalid entry. Only admitted pods count against
 * the next one, and critical pods that wait for others to terminate: pods that are not decided yet would block one another.
 */
export function podAdmission(o: PodAdmissionOptions): PodAdmission {
  const sysctls = sysctlAllowlist([...safeSysctls(release()), ...o.allowedUnsafeSysctls]);
  const pods = o.podsPerCore > 0 ? Math.min(o.maxPods, o.podsPerCore * o.cpus) : o.maxPods;
  const appArmor = hasAppArmor();
  const criticalPods = new CriticalPods(o);
  let admitted = new Set<PodUid>();
  /** The pods that count against this one: those that run or were admitted, and those that resources are reserved for. */
  const othersOf = (uid: PodUid) => {
    const active = o.activePods();
    const reserved = criticalPods.reserved(uid, active);
    const running = active.filter((other) => {
      const { uid: otherUid } = other.metadata;
      return otherUid !== uid && !reserved.includes(other) && (admitted.has(otherUid) || o.runs(otherUid));
    });
    return { reserved, running };
  };
  const { devices } = o;
  /** The extended resources that other writers added to the node; the devices of plugins are counted by their allocator. */
  const extendedResources = () =>
    Object.fromEntries(
      Object.entries(o.apiAllocatable?.() ?? {}).filter(
        ([name]) => isExtendedResourceName(name) && devices?.describe(name) === undefined,
      ),
    );
  const contextOf = (others: readonly Pod[]): AdmissionContext => {
    const { labels, taints } = o.labelsAndTaints?.() ?? { labels: {}, taints: [] };
    return {
      pressure: o.pressure,
      shutdown: o.shutdown,
      node: { name: o.nodeName, labels: { ...defaultLabels(o.nodeName), ...labels } },
      taints,
      sysctls,
      appArmor,
      allocatable: {
        ...o.allocatable,
        ...extendedResources(),
        ...devices?.fitAmounts(),
        pods: String(pods),
      },
      describe: (resource) => devices?.describe(resource),
      podLevelResources: o.podLevelResources,
      extendedResourcesByDra: o.extendedResourcesByDra,
      declaredFeatures: o.declaredFeatures(),
      comparesTaints: o.comparesTaints,
      // A rejection is final: a runtime that has not reported its features yet is no reason for one.
      supplementalGroupsPolicy: o.runtime.supplementalGroupsPolicy() ?? true,
      others,
    };
  };
  const admit = (pod: Pod): Admission => {
    const { uid } = pod.metadata;
    // A pod that runs may be preempted before it is admitted again after a restart. It has failed for that reason, not for lack of resources.
    if (o.isTerminating(uid))
      return { kind: "waiting", text: "waiting to be terminated", until: msFromNow(o.clock, preemptionMs) };
    const { reserved, running } = othersOf(uid);
    admitted = new Set(running.map((other) => other.metadata.uid));
    const others = [...running, ...reserved];
    // A pod that is already running was admitted before, by a previous agent.
    const context = {
      ...contextOf(others),
      ...(o.runs(uid) && { pressure: undefined, shutdown: undefined }),
    };
    const failure = admitPod(pod, context);
    if (failure) {
      const staying = others.filter((other) => !o.isTerminating(other.metadata.uid));
      const waits = admitPod(pod, { ...context, others: staying })
        ? undefined
        : criticalPods.waitFor(reserved);
      return waits ?? { kind: "rejected", failure };
    }
    const admission: Admission = isCritical(pod) ? criticalPods.admit(pod, context) : { kind: "admitted" };
    if (admission.kind === "admitted") admitted.add(uid);
    return admission;
  };
  const rejectResize: PodAdmission["rejectResize"] = (pod) => {
    const { reserved, running } = othersOf(pod.metadata.uid);
    const context = contextOf([...running, ...reserved]);
    const failure = admitPod(pod, context);
    if (!failure && !isCritical(pod)) return undefined;
    const admission: Admission = failure ? { kind: "rejected", failure } : criticalPods.admit(pod, context);
    switch (admission.kind) {
      case "admitted":
        return undefined;
      case "waiting":
        return { reason: "Preempting", message: admission.text };
      case "rejected":
        return { reason: admission.failure.reason, message: withoutPrefix(admission.failure.message) };
      default:
        return admission satisfies never;
    }
  };
  return { admit, rejectResize };
}

/** The message of a rejected pod, without what its status has in front of it. */
function withoutPrefix(message: string): string {
  return message.replace(/^Pod was rejected: /, "");
}

function defaultLabels(name: string): Record<string, string> {
  const architecture: Record<string, string> = { x64: "amd64", ia32: "386" };
  return {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": architecture[arch()] ?? arch(),
  };
}

/** The kernel has AppArmor, and it is enabled. */
function hasAppArmor(): boolean {
  try {
    return (
      existsSync("/sys/kernel/security/apparmor") &&
      readFileSync("/sys/module/apparmor/parameters/enabled", "utf8").startsWith("Y")
    );
  } catch {
    return false;
  }
}
