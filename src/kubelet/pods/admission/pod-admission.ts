import { existsSync, readFileSync } from "node:fs";
import { arch, release } from "node:os";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodVerdict } from "../../../lib/model/pod-verdict.ts";
import { type AdmissionContext, admitPod } from "./admit.ts";
import { safeSysctls, sysctlAllowlist } from "./sysctls.ts";

export interface PodAdmissionOptions {
  nodeName: string;
  /** Labels besides those that every node has, and taints, as they are now. */
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
  /** All pods that are to run and have not ended, this one perhaps among them. */
  activePods: () => readonly Pod[];
  /** True if containers of the pod run: it was let in before, perhaps by an agent before this one. */
  runs: (uid: PodUid) => boolean;
}

/**
 * Decides which pods may run here. Throws if allowedUnsafeSysctls has something that is no such sysctl. Only pods that
 * were let in count against one that comes: those that still wait for an answer would keep one another out.
 */
export function podAdmission(o: PodAdmissionOptions): (pod: Pod) => PodVerdict | undefined {
  const sysctls = sysctlAllowlist([...safeSysctls(release()), ...o.allowedUnsafeSysctls]);
  const pods = o.podsPerCore > 0 ? Math.min(o.maxPods, o.podsPerCore * o.cpus) : o.maxPods;
  const appArmor = hasAppArmor();
  let letIn = new Set<PodUid>();
  return (pod) => {
    const others = o
      .activePods()
      .filter(({ metadata: { uid } }) => uid !== pod.metadata.uid && (letIn.has(uid) || o.runs(uid)));
    letIn = new Set(others.map((other) => other.metadata.uid));
    const { labels, taints } = o.labelsAndTaints?.() ?? { labels: {}, taints: [] };
    const verdict = admitPod(pod, {
      node: { name: o.nodeName, labels: { ...labelsOfEveryNode(o.nodeName), ...labels } },
      taints,
      sysctls,
      appArmor,
      allocatable: { ...o.allocatable, pods: String(pods) },
      podLevelResources: o.podLevelResources,
      declaredFeatures: o.declaredFeatures,
      // A refusal is for good: a runtime that has not been heard of yet is no reason for one.
      supplementalGroupsPolicy: o.runtime.supplementalGroupsPolicy() ?? true,
      others,
    });
    if (!verdict) letIn.add(pod.metadata.uid);
    return verdict;
  };
}

function labelsOfEveryNode(name: string): Record<string, string> {
  const architecture: Record<string, string> = { x64: "amd64", ia32: "386" };
  return {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": architecture[arch()] ?? arch(),
  };
}

/** The kernel has it, and it is turned on. */
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
