import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { type Clock, msSince } from "../../../../lib/base/clock.ts";
import { isAbort } from "../../../../lib/base/errors.ts";
import type { PluginChannel } from "../../../../lib/clients/plugin-rpc/plugin-channel.ts";
import { codeName, rpcCodeOf } from "../../../../lib/clients/plugin-rpc/rpc-error.ts";
import {
  VolumeCapability_AccessMode_Mode as Mode,
  Node,
  type NodeGetVolumeStatsResponse,
  NodeServiceCapability_RPC_Type as Rpc,
  type VolumeCapability_AccessMode_Mode,
} from "../../../../lib/gen/csi/v1/csi_pb.js";
import { callFailure } from "./csi-failure.ts";
import type { CsiMetrics } from "./csi-metrics.ts";
import type { StringMap } from "./source.ts";

/** The timeout of one call to a driver. */
const csiTimeoutMs = 120_000;

export interface DriverNodeInfo {
  readonly nodeId: string;
  /** 0: the driver reports no limit. */
  readonly maxVolumes: bigint;
  readonly topology: StringMap;
}

export interface DriverCapabilities {
  readonly stages: boolean;
  readonly stats: boolean;
  readonly expands: boolean;
  readonly condition: boolean;
  readonly singleNodeMultiWriter: boolean;
  /** The driver applies the fsGroup itself. */
  readonly mountGroup: boolean;
}

/** The access type: a block device, or a filesystem. */
export type AccessType =
  | { readonly kind: "block" }
  | {
      readonly kind: "mount";
      readonly fsType: string;
      readonly options: readonly string[];
      readonly group: number | undefined;
    };

interface VolumeCall {
  readonly handle: string;
  readonly accessMode: string;
  readonly accessType: AccessType;
  readonly capabilities: DriverCapabilities;
  readonly secrets: StringMap;
}

export interface StageCall extends VolumeCall {
  readonly stagingPath: string;
  readonly publishContext: StringMap;
  readonly volumeContext: StringMap;
}

export interface PublishCall extends Omit<StageCall, "stagingPath"> {
  readonly stagingPath: string | undefined;
  readonly targetPath: string;
  readonly readOnly: boolean;
}

export interface ExpandCall extends VolumeCall {
  readonly volumePath: string;
  readonly stagingPath: string | undefined;
  readonly bytes: bigint;
}

/** The node service of one driver. Modifying calls throw a CsiFailure, which shows whether the driver is done. */
export class CsiClient {
  readonly driver: string;
  readonly #channel: PluginChannel;
  readonly #clock: Clock;
  readonly #metrics: CsiMetrics;

  constructor(driver: string, channel: PluginChannel, clock: Clock, metrics: CsiMetrics) {
    this.driver = driver;
    this.#channel = channel;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  async nodeInfo(signal: AbortSignal): Promise<DriverNodeInfo> {
    const info = await this.#call(Node.method.nodeGetInfo, {}, signal);
    return {
      nodeId: info.nodeId,
      maxVolumes: info.maxVolumesPerNode,
      topology: info.accessibleTopology?.segments ?? {},
    };
  }

  async capabilities(signal: AbortSignal): Promise<DriverCapabilities> {
    const response = await this.#call(Node.method.nodeGetCapabilities, {}, signal);
    const types = new Set(response.capabilities.map(({ type }) => type.case && type.value.type));
    return {
      stages: types.has(Rpc.STAGE_UNSTAGE_VOLUME),
      stats: types.has(Rpc.GET_VOLUME_STATS),
      expands: types.has(Rpc.EXPAND_VOLUME),
      condition: types.has(Rpc.VOLUME_CONDITION),
      singleNodeMultiWriter: types.has(Rpc.SINGLE_NODE_MULTI_WRITER),
      mountGroup: types.has(Rpc.VOLUME_MOUNT_GROUP),
    };
  }

  stage(call: StageCall, signal: AbortSignal): Promise<void> {
    return this.#change(
      Node.method.nodeStageVolume,
      {
        volumeId: call.handle,
        stagingTargetPath: call.stagingPath,
        publishContext: { ...call.publishContext },
        volumeCapability: capability(call),
        secrets: { ...call.secrets },
        volumeContext: { ...call.volumeContext },
      },
      signal,
    );
  }

  publish(call: PublishCall, signal: AbortSignal): Promise<void> {
    return this.#change(
      Node.method.nodePublishVolume,
      {
        volumeId: call.handle,
        targetPath: call.targetPath,
        stagingTargetPath: call.stagingPath ?? "",
        publishContext: { ...call.publishContext },
        volumeCapability: capability(call),
        readonly: call.readOnly,
        secrets: { ...call.secrets },
        volumeContext: { ...call.volumeContext },
      },
      signal,
    );
  }

  unpublish(volumeId: string, targetPath: string, signal: AbortSignal): Promise<void> {
    return this.#change(Node.method.nodeUnpublishVolume, { volumeId, targetPath }, signal);
  }

  unstage(volumeId: string, stagingTargetPath: string, signal: AbortSignal): Promise<void> {
    return this.#change(Node.method.nodeUnstageVolume, { volumeId, stagingTargetPath }, signal);
  }

  expand(call: ExpandCall, signal: AbortSignal): Promise<void> {
    return this.#change(
      Node.method.nodeExpandVolume,
      {
        volumeId: call.handle,
        volumePath: call.volumePath,
        stagingTargetPath: call.stagingPath ?? "",
        capacityRange: { requiredBytes: call.bytes },
        volumeCapability: capability(call),
        secrets: { ...call.secrets },
      },
      signal,
    );
  }

  stats(volumeId: string, volumePath: string, signal: AbortSignal): Promise<NodeGetVolumeStatsResponse> {
    return this.#call(Node.method.nodeGetVolumeStats, { volumeId, volumePath }, signal);
  }

  close(): void {
    this.#channel.close();
  }

  async #change<I extends DescMessage>(
    method: DescMethodUnary<I, DescMessage>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#call(method, request, signal);
    } catch (error) {
      throw isAbort(error) ? error : callFailure(error);
    }
  }

  async #call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
  ): Promise<MessageShape<O>> {
    const startedAt = this.#clock.monotonic();
    let code = "OK";
    try {
      return await this.#channel.call(method, request, { timeoutMs: csiTimeoutMs, signal });
    } catch (error) {
      const grpcCode = rpcCodeOf(error);
      code = grpcCode ? codeName(grpcCode) : isAbort(error) ? "Canceled" : "unknown-non-grpc";
      throw error;
    } finally {
      const path = `/${method.parent.typeName}/${method.name}`;
      this.#metrics.called(this.driver, path, code, msSince(this.#clock, startedAt) / 1000);
    }
  }
}

interface CapabilityInit {
  accessMode: { mode: VolumeCapability_AccessMode_Mode };
  accessType:
    | { case: "block"; value: object }
    | { case: "mount"; value: { fsType: string; mountFlags: string[]; volumeMountGroup: string } };
}

function capability({ accessMode, accessType, capabilities }: VolumeCall): CapabilityInit {
  return {
    accessMode: { mode: accessModeFor(accessMode, capabilities.singleNodeMultiWriter) },
    accessType:
      accessType.kind === "block"
        ? { case: "block", value: {} }
        : {
            case: "mount",
            value: {
              fsType: accessType.fsType,
              mountFlags: [...accessType.options],
              volumeMountGroup: accessType.group === undefined ? "" : String(accessType.group),
            },
          },
  };
}

/** The CSI access mode of a PersistentVolume's access mode. Older drivers know only SINGLE_NODE_WRITER. */
export function accessModeFor(mode: string, singleNodeMultiWriter: boolean): Mode {
  switch (mode) {
    case "ReadWriteOnce":
      return singleNodeMultiWriter ? Mode.SINGLE_NODE_MULTI_WRITER : Mode.SINGLE_NODE_WRITER;
    case "ReadWriteOncePod":
      return singleNodeMultiWriter ? Mode.SINGLE_NODE_SINGLE_WRITER : Mode.SINGLE_NODE_WRITER;
    case "ReadOnlyMany":
      return Mode.MULTI_NODE_READER_ONLY;
    case "ReadWriteMany":
      return Mode.MULTI_NODE_MULTI_WRITER;
    default:
      return Mode.UNKNOWN;
  }
}
