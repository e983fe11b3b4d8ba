import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AllocatableResourcesResponseSchema,
  ContainerResourcesSchema,
  PodResourcesSchema,
} from "../../../lib/gen/podresources/v1/api_pb.js";
import type { ListPodResourcesResponseSchema as AlphaListSchema } from "../../../lib/gen/podresources/v1alpha1/api_pb.js";
import type { Pod } from "../../../lib/model/pod.ts";
import type { PodResourcesSources } from "./sources.ts";

type PodResources = MessageInitShape<typeof PodResourcesSchema>;
type ContainerResources = MessageInitShape<typeof ContainerResourcesSchema>;

/** Terminated init containers have no resources: only restartable ones are listed, before the others. */
export function podResources(pod: Pod, sources: PodResourcesSources): PodResources {
  const { name, namespace } = pod.metadata;
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  return {
    name,
    namespace,
    containers: [...sidecars, ...pod.spec.containers].map((c) => containerResources(pod, c.name, sources)),
  };
}

function containerResources(pod: Pod, name: string, sources: PodResourcesSources): ContainerResources {
  const { devices, cpus, memory, claims } = sources;
  const { uid } = pod.metadata;
  return {
    name,
    devices: [...(devices?.of(uid, name) ?? [])],
    cpuIds: (cpus?.of(uid, name) ?? []).map(BigInt),
    memory: [...(memory?.of(uid, name) ?? [])],
    dynamicResources: [...(claims?.of(pod, name) ?? [])],
  };
}

export function allocatable({
  devices,
  cpus,
  memory,
}: PodResourcesSources): MessageInitShape<typeof AllocatableResourcesResponseSchema> {
  return {
    devices: [...(devices?.all() ?? [])],
    cpuIds: (cpus?.all() ?? []).map(BigInt),
    memory: [...(memory?.all() ?? [])],
  };
}

/** v1alpha1 has devices only, and no init containers. */
export function alphaList(sources: PodResourcesSources): MessageInitShape<typeof AlphaListSchema> {
  return {
    podResources: sources.pods.active().map(({ metadata: { name, namespace, uid }, spec }) => ({
      name,
      namespace,
      containers: spec.containers.map((container) => ({
        name: container.name,
        devices: (sources.devices?.of(uid, container.name) ?? []).map(({ resourceName, deviceIds }) => ({
          ...(resourceName !== undefined && { resourceName }),
          ...(deviceIds !== undefined && { deviceIds: [...deviceIds] }),
        })),
      })),
    })),
  };
}
