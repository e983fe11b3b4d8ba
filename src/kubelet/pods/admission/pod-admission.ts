import { existsSync, readFileSync } from "node:fs";
import { arch, release } from "node:os";
import { isCritical } from "../../../lib/model/critical-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { Admission } from "../../../lib/model/pod-sync.ts";
import { type AdmissionContext, admitPod } from "./admit.ts";
import { CriticalPods, type CriticalPodsOptions } from "./critical-pods.ts";
import { safeSysctls, sysctlAllowlist } from "./sysctls.ts";

export interface PodAdmissionOptions extends CriticalPodsOptions {
  nodeName: string;
  /** Current labels, besides the default ones, and taints. */
  labelsAndTaints?: () => { labels: Readonly<Record<string, string>>; taints: AdmissionContext["taints"] };
  allocatable: Readonly<Record<string, string>>;
  cpus: number;
  maxPods: number;
  /** 0 for no such limit. */
  podsPerCore: number;
  allowedUnsafeSysctls: readonly string[];
  podLevelResources: boolean;
  declaredFeatures: AdmissionContext["declaredFeatures"];
  runtime: { supplementalGroupsPolicy(): boolean | undefined };
  /** Which resources of the node are low. */
  pressure?: AdmissionContext["pressure"];
  /** All desired pods that have not terminated, perhaps including this one. */
  activePods: () => readonly Pod[];
}

/**
 * Decides which pods may run here. Throws if allowedUnsafeSysctls has an invalid entry. Only admitted pods count against
 * the next one, and critical pods that wait for others to terminate: pods that are not decided yet would block one another.
 */
export function podAdmission(o: PodAdmissionOptions): (pod: Pod) => Admission {
  const sysctls = sysctlAllowlist([...safeSysctls(release()), ...o.allowedUnsafeSysctls]);
  const pods = o.podsPerCore > 0 ? Math.min(o.maxPods, o.podsPerCore * o.cpus) : o.maxPods;
  const appArmor = hasAppArmor();
  const criticalPods = new CriticalPods(o);
  let admitted = new Set<PodUid>();
  return (pod) => {
    const { uid } = pod.metadata;
    const active = o.activePods();
    const reserved = criticalPods.reserved(uid, active);
    const running = active.filter((other) => {
      const { uid: otherUid } = other.metadata;
      return otherUid !== uid && !reserved.includes(other) && (admitted.has(otherUid) || o.runs(otherUid));
    });
    admitted = new Set(running.map((other) => other.metadata.uid));
    const others = [...running, ...reserved];
    const { labels, taints } = o.labelsAndTaints?.() ?? { labels: {}, taints: [] };
    const context: AdmissionContext = {
      // A pod that runs already was admitted before, by a previous agent.
      pressure: o.runs(uid) ? undefined : o.pressure,
      node: { name: o.nodeName, labels: { ...defaultLabels(o.nodeName), ...labels } },
      taints,
      sysctls,
      appArmor,
      allocatable: { ...o.allocatable, pods: String(pods) },
      podLevelResources: o.podLevelResources,
      declaredFeatures: o.declaredFeatures,
      // A rejection is final: a runtime that has not reported its features yet is no reason for one.
      supplementalGroupsPolicy: o.runtime.supplementalGroupsPolicy() ?? true,
      others,
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
