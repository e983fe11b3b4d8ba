import { existsSync, readFileSync } from "node:fs";
import { arch, release } from "node:os";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import { type AdmissionContext, admitPod } from "./admit.ts";
import { safeSysctls, sysctlAllowlist } from "./sysctls.ts";

export interface PodAdmissionOptions {
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
  /** All desired pods that have not terminated, perhaps including this one. */
  activePods: () => readonly Pod[];
  /** True if containers of the pod run: it was admitted before, perhaps by a previous agent. */
  runs: (uid: PodUid) => boolean;
}

/**
 * Decides which pods may run here. Throws if allowedUnsafeSysctls has an invalid entry. Only admitted pods count against
 * the next one: pods that are not decided yet would block one another.
 */
export function podAdmission(o: PodAdmissionOptions): (pod: Pod) => PodFailure | undefined {
  const sysctls = sysctlAllowlist([...safeSysctls(release()), ...o.allowedUnsafeSysctls]);
  const pods = o.podsPerCore > 0 ? Math.min(o.maxPods, o.podsPerCore * o.cpus) : o.maxPods;
  const appArmor = hasAppArmor();
  let admitted = new Set<PodUid>();
  return (pod) => {
    const others = o
      .activePods()
      .filter(({ metadata: { uid } }) => uid !== pod.metadata.uid && (admitted.has(uid) || o.runs(uid)));
    admitted = new Set(others.map((other) => other.metadata.uid));
    const { labels, taints } = o.labelsAndTaints?.() ?? { labels: {}, taints: [] };
    const failure = admitPod(pod, {
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
    });
    if (!failure) admitted.add(pod.metadata.uid);
    return failure;
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
