import type { NodeSettings } from "./node-object.ts";
import type { StatusInputs } from "./node-status.ts";

/** The machine and the settings of test/fixtures/recorded/node.json, as info. For tests. */
export function fakeSettings(changes: Partial<NodeSettings> = {}): NodeSettings {
  return {
    name: "bench-node",
    hostname: "bench-node",
    os: "linux",
    arch: "amd64",
    labels: {},
    taints: [],
    externalCloudProvider: false,
    controllerAttachDetach: true,
    providerId: "",
    ...changes,
  };
}

export function fakeInputs(changes: Partial<StatusInputs> = {}): StatusInputs {
  const features = { recursiveReadOnlyMounts: true, userNamespaces: false };
  return {
    addresses: {
      hostname: "bench-node",
      nodeName: "bench-node",
      nodeIps: [],
      externalCloudProvider: false,
      hostIps: ["127.0.0.1", "192.0.2.10"],
      resolvedIps: [],
      defaultRouteIps: { ipv4: "192.0.2.10" },
    },
    machine: {
      cpus: 2,
      memoryBytes: 24682416n * 1024n,
      hugepages: [
        { pageBytes: 1n << 30n, pages: 0n },
        { pageBytes: 2n << 20n, pages: 0n },
      ],
      storageBytes: 264212084n * 1024n,
    },
    devices: { capacity: {}, allocatable: {}, removed: [] },
    pods: { maxPods: 110, podsPerCore: 0 },
    reservations: {
      evictionHard: {
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
        "imagefs.available": "15%",
        "imagefs.inodesFree": "5%",
      },
    },
    system: {
      machineId: "3d1219c7c4c5404aaa1f6d2a48adfda4",
      systemUuid: "3d1219c7c4c5404aaa1f6d2a48adfda4",
      bootId: "8a338ad1-9909-4832-ab85-0db46f488edc",
      kernelVersion: "6.18.44-fc-v445",
      osImage: "Debian GNU/Linux 12 (bookworm)",
      os: "linux",
      arch: "amd64",
      swapBytes: 0n,
    },
    runtime: { name: "containerd", version: "2.1.9+unknown" },
    kubeletVersion: "v1.36.4",
    port: 20250,
    images: [
      { repoDigests: [], repoTags: ["registry.k8s.io/pause:3.10.1"], sizeBytes: 696970 },
      { repoDigests: [], repoTags: ["docker.io/library/busybox:1.35"], sizeBytes: 2007692 },
    ],
    maxImages: 50,
    handlers: [
      { name: "runc", features },
      { name: "", features },
    ],
    supplementalGroupsPolicy: true,
    declaredFeatures: [
      "ExtendWebSocketsToKubelet",
      "InPlacePodLevelResourcesVerticalScaling",
      "InPlacePodVerticalScalingInitContainers",
      "RestartAllContainersOnContainerExits",
    ],
    conditions: { pressure: [], notReady: [] },
    localStorage: true,
    volumesInUse: undefined,
    ...changes,
  };
}
