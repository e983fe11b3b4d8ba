import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ContainerDevicesSchema,
  ContainerMemorySchema,
  DynamicResourceSchema,
} from "../../../lib/gen/podresources/v1/api_pb.js";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";

export type AllocatedDevices = MessageInitShape<typeof ContainerDevicesSchema>;
export type AllocatedMemory = MessageInitShape<typeof ContainerMemorySchema>;
export type AllocatedClaim = MessageInitShape<typeof DynamicResourceSchema>;

/** Exclusive resources of containers, and what is allocatable. Absent: there is no such manager. */
export interface PodResourcesSources {
  readonly pods: {
    /** The pods that have not terminated. */
    active(): readonly Pod[];
    byName(namespace: string, name: string): Pod | undefined;
  };
  readonly devices?: {
    of(uid: PodUid, container: string): readonly AllocatedDevices[];
    all(): readonly AllocatedDevices[];
  };
  readonly cpus?: { of(uid: PodUid, container: string): readonly number[]; all(): readonly number[] };
  readonly memory?: {
    of(uid: PodUid, container: string): readonly AllocatedMemory[];
    all(): readonly AllocatedMemory[];
  };
  readonly claims?: { of(pod: Pod, container: string): readonly AllocatedClaim[] };
}
