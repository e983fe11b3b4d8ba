import { healthy } from "../../lib/base/component.ts";
import { KubeletError } from "../../lib/base/errors.ts";
import type { Pod, PodUid } from "../../lib/model/pod.ts";
import type { SyncReport } from "../../lib/model/pod-sync.ts";
import { declaredFeatures } from "../node/declared-features.ts";
import type { PodRuntime } from "../pipeline/pod-runtime/pod-runtime.ts";
import type { PodWork } from "../pipeline/pod-workers/pod-work.ts";
import { isFinal } from "../pipeline/status-manager/phase-by-states.ts";
import type { StatusManager } from "../pipeline/status-manager/status-manager.ts";
import { attachmentLimitExceeded, type VolumeManager } from "../pods/volumes/manager/volume-manager.ts";
import { runningContainers } from "../state/observed-pods.ts";
import type { AgentCore } from "./agent-core.ts";
import { podAdmission } from "./pod-admission.ts";

/** What workers have done for their pods: by the runtime, and by all who have a say in it. */
export function podWork(
  core: AgentCore,
  parts: {
    runtime: PodRuntime;
    statuses: Pick<StatusManager, "get" | "activeSince">;
    probes: { watch(pod: Pod): void };
    userNamespaces: { release(uid: PodUid): Promise<void> };
    volumes: VolumeManager;
    activePods: () => Pod[];
    /** The pod may run here, with the resources that it has now. */
    admitted: (pod: Pod) => void;
  },
): PodWork {
  const { node, config, events, connection, observed, post } = core;
  const { runtime, probes, statuses, volumes } = parts;
  const admit = podAdmission({
    nodeName: node.name,
    standing: () => core.view?.standing() ?? { labels: node.configuration.settings.labels, taints: [] },
    allocatable: node.facts.allocatable,
    cpus: node.cpus,
    maxPods: config.maxPods,
    podsPerCore: config.podsPerCore,
    allowedUnsafeSysctls: config.allowedUnsafeSysctls ?? [],
    podLevelResources: node.settings.gates.podLevelResources,
    declaredFeatures: declaredFeatures((gate) => core.options.gates.enabled(gate)),
    runtime: core.features,
    activePods: parts.activePods,
    runs: (uid) => runningContainers(observed.get(uid)).length > 0,
  });
  /** Pods on the host's network run without any other. */
  const requireNetwork = (pod: Pod, report: SyncReport) => {
    const network = connection.state.kind === "unknown" ? healthy : connection.networkHealth();
    if (network.ok || pod.spec.hostNetwork) return;
    const message = `network is not ready: ${network.reason}`;
    events.warning(pod, "NetworkNotReady", message);
    report.blockedOn(message, { kind: "network" });
    throw new KubeletError("NetworkNotReady", message);
  };
  /** A pod that was admitted, and turns out not to fit. */
  const refuse = (pod: Pod, { code: reason, message }: KubeletError) => {
    events.warning(pod, reason, message);
    const verdict = { phase: "Failed", reason, message: `Pod was rejected: ${message}` } as const;
    post({ kind: "pod-rejected", uid: pod.metadata.uid, verdict });
  };
  /** Says which volume is waited for, as long as one is. */
  const volumesOf = async (pod: Pod, report: SyncReport, signal: AbortSignal) => {
    const { uid } = pod.metadata;
    volumes.register(pod);
    const tell = () => {
      const [first] = volumes.waiting(uid);
      if (first !== undefined) report.blockedOn(first, { kind: "volumes" });
    };
    const stop = volumes.onChange((changed) => changed === uid && tell());
    try {
      tell();
      await volumes.waitFor(pod, signal);
    } catch (error) {
      if (error instanceof KubeletError && error.code === attachmentLimitExceeded) refuse(pod, error);
      throw error;
    } finally {
      stop();
    }
  };
  return {
    sync: async (pod, report, signal) => {
      probes.watch(pod);
      core.objects?.register(pod);
      requireNetwork(pod, report);
      await volumesOf(pod, report, signal);
      return runtime.sync(pod, report, signal);
    },
    stop: (uid, pod, options) => runtime.stop(uid, pod, options),
    release: async (uid, signal) => {
      await volumes.release(uid, signal);
      await runtime.release(uid);
      await parts.userNamespaces.release(uid);
      core.objects?.unregister({ metadata: { uid } });
      post({ kind: "pod-released", uid });
    },
    remove: (id, signal) => runtime.remove(id, signal),
    hasEnded: ({ metadata }) => isFinal(statuses.get(metadata.uid)?.phase),
    admit: (pod) => {
      const verdict = admit(pod);
      if (verdict) events.warning(pod, verdict.reason, verdict.message.replace(/^Pod was rejected: /, ""));
      else parts.admitted(pod);
      return verdict;
    },
    deadlineOf: (pod) => {
      const { activeDeadlineSeconds } = pod.spec;
      const since = statuses.activeSince(pod.metadata.uid);
      if (activeDeadlineSeconds == null || since === undefined) return undefined;
      return { since, limitMs: activeDeadlineSeconds * 1000 };
    },
  };
}
