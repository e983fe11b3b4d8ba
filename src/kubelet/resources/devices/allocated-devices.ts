import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type ContainerAllocateResponse,
  ContainerAllocateResponseSchema,
} from "../../../lib/gen/deviceplugin/v1beta1/api_pb.js";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import { isSidecar } from "../../../lib/model/resources.ts";
import type { CheckpointEntry } from "./checkpoint.ts";
import { type DevicesByNode, idsOf } from "./device.ts";

/** The devices of one resource that a container has, and how it accesses them. */
export interface Allocated {
  readonly devices: DevicesByNode;
  readonly response: ContainerAllocateResponse;
}

export interface DeviceOwner {
  readonly uid: PodUid;
  readonly container: string;
}

/** The devices of all containers, in memory. */
export class AllocatedDevices {
  /** By pod, container and resource. */
  readonly #pods = new Map<PodUid, Map<string, Map<string, Allocated>>>();

  set(uid: PodUid, container: string, resource: string, allocated: Allocated): void {
    const containers = this.#pods.get(uid) ?? new Map<string, Map<string, Allocated>>();
    this.#pods.set(uid, containers);
    containers.set(container, new Map([...(containers.get(container) ?? []), [resource, allocated]]));
  }

  get(uid: PodUid, container: string, resource: string): Allocated | undefined {
    return this.#pods.get(uid)?.get(container)?.get(resource);
  }

  /** By resource. */
  ofContainer(uid: PodUid, container: string): ReadonlyMap<string, Allocated> {
    return this.#pods.get(uid)?.get(container) ?? new Map<string, Allocated>();
  }

  /** The devices of all containers of a pod. */
  ofPod(uid: PodUid, resource: string): Set<string> {
    const containers = [...(this.#pods.get(uid)?.values() ?? [])];
    return new Set(containers.flatMap((resources) => [...ids(resources.get(resource))]));
  }

  /** Whether the pod had any. */
  delete(uid: PodUid): boolean {
    return this.#pods.delete(uid);
  }

  pods(): PodUid[] {
    return [...this.#pods.keys()];
  }

  resources(): Set<string> {
    const all = [...this.#pods.values()].flatMap((containers) => [...containers.values()]);
    return new Set(all.flatMap((resources) => [...resources.keys()]));
  }

  /** The owner of each device that is in use: of a device that was reused, the last container. */
  owners(resource: string): Map<string, DeviceOwner> {
    const owners = new Map<string, DeviceOwner>();
    for (const [uid, containers] of this.#pods)
      for (const [container, resources] of containers)
        for (const id of ids(resources.get(resource))) owners.set(id, { uid, container });
    return owners;
  }

  /**
   * The devices that the container can take over from earlier init containers: no other earlier container has them. Init containers run one
   * at a time, so their devices are free again.
   */
  reusable(pod: Pod, container: Container, resource: string): Set<string> {
    const { uid } = pod.metadata;
    const { initContainers = [], containers } = pod.spec;
    const init = new Set(initContainers.filter((c) => !isSidecar(c)).map(({ name }) => name));
    const reusable = new Set<string>();
    for (const { name } of [...initContainers, ...containers]) {
      if (name === container.name) break;
      for (const id of ids(this.get(uid, name, resource)))
        if (init.has(name)) reusable.add(id);
        else reusable.delete(id);
    }
    return reusable;
  }

  toEntries(): CheckpointEntry[] {
    return [...this.#pods].flatMap(([podUID, containers]) =>
      [...containers].flatMap(([container, resources]) =>
        [...resources].map(([resource, { devices, response }]) => ({
          podUID,
          container,
          resource,
          devices,
          response: toBinary(ContainerAllocateResponseSchema, response),
        })),
      ),
    );
  }

  /** Returns the entries whose response cannot be decoded. */
  load(entries: readonly CheckpointEntry[]): CheckpointEntry[] {
    return entries.filter(({ podUID, container, resource, devices, response }) => {
      try {
        const decoded = fromBinary(ContainerAllocateResponseSchema, response);
        this.set(podUID as PodUid, container, resource, { devices, response: decoded });
        return false;
      } catch {
        return true;
      }
    });
  }
}

function ids(allocated: Allocated | undefined): Set<string> {
  return allocated ? idsOf(allocated.devices) : new Set<string>();
}
