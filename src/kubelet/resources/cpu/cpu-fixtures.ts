import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import { noCpus, parseCpuSet } from "../../../lib/model/cpu-set.ts";
import type { PodLevelManagers } from "../../../lib/model/exclusive-cpus.ts";
import { type FakeContainer, fakePod } from "../../../lib/model/fake-pod.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import { CpuManager } from "./cpu-manager.ts";
import { machine } from "./machine-fixtures.ts";
import { staticPolicyOptions } from "./policy-options.ts";
import { staticPolicy } from "./static-policy.ts";

/** A manager with the static policy, or the none policy without a machine. */
export function cpuManager(
  rootDir: string,
  o: {
    machine?: string;
    reserved?: string;
    options?: readonly string[];
    podLevelManagers?: PodLevelManagers;
  },
  metrics = createMetrics(),
): CpuManager {
  const { machine: name, reserved = "0", options = [] } = o;
  const reservedCpus = parseCpuSet(reserved);
  return new CpuManager({
    rootDir,
    metrics,
    logger: silentLogger,
    podLevelResources: true,
    podLevelManagers: o.podLevelManagers,
    policy:
      name === undefined
        ? undefined
        : staticPolicy({
            topology: machine(name),
            options: staticPolicyOptions(Object.fromEntries(options.map((option) => [option, "true"])), {
              enabled: () => true,
            }),
            reservedCpus: reservedCpus.size > 0 ? reservedCpus : noCpus,
            reservedMilliCpus: BigInt(reservedCpus.size) * 1000n,
          }),
  });
}

/** CPUs of each container; init containers as "2", sidecars as "2 sidecar". */
export function guaranteedPod(name: string, cpus: readonly string[], init: readonly string[] = []): Pod {
  const container = (text: string, prefix: string, index: number): FakeContainer => {
    const [cpu = "", sidecar] = text.split(" ");
    const amounts = { cpu, memory: "16Mi" };
    return {
      name: `${prefix}${index}`,
      image: "example/app:1",
      resources: { requests: amounts, limits: amounts },
      ...(sidecar && { restartPolicy: "Always" }),
    };
  };
  return fakePod({
    metadata: { name, uid: name as PodUid },
    spec: {
      initContainers: init.map((text, index) => container(text, "init", index) as Container),
      containers: cpus.map((text, index) => container(text, "app", index)),
    },
  });
}

/** A pod with that many CPUs for its containers together; those without an amount, "" or " sidecar", share what the others leave. */
export function podLevelPod(
  name: string,
  cpus: string,
  containers: readonly string[],
  init: readonly string[] = [],
): Pod {
  const pod = guaranteedPod(name, containers, init);
  const amounts = { cpu: cpus, memory: "1Gi" };
  pod.spec.resources = { requests: amounts, limits: amounts };
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
    if (!container.resources?.requests?.cpu) delete container.resources;
  return pod;
}

/** Admits a pod as the topology manager does, with the first hint of each container. Throws if the pod is rejected. */
export async function admit(manager: CpuManager, pod: Pod): Promise<void> {
  try {
    for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
      const hints = manager.hints(pod, container).get("cpu") ?? [];
      const affinity = hints.find(({ preferred }) => preferred) ?? hints[0];
      await manager.allocate(pod, container, affinity ?? { numaNodes: undefined, preferred: true });
    }
  } catch (error) {
    manager.release(pod.metadata.uid);
    throw error;
  }
}
