import { appendFile, mkdir, readFile, rm, statfs, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { create, type DescService, type Message, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from "@grpc/grpc-js";
import { serviceDefinition } from "../../src/lib/clients/cri/service-definition.ts";
import {
  Identity,
  Node,
  type NodeExpandVolumeRequest,
  type NodeGetVolumeStatsRequest,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
  NodeServiceCapability_RPC_Type as Rpc,
  VolumeUsage_Unit as Unit,
} from "../../src/lib/gen/csi/v1/csi_pb.js";
import { Registration, type RegistrationStatus } from "../../src/lib/gen/pluginregistration/v1/api_pb.js";
import { attachLoopDevice, detachLoopDevice } from "../../src/lib/host/loop-devices.ts";
import { hostMounts } from "../../src/lib/host/mounts.ts";

export interface CsiDriverOptions {
  readonly name: string;
  /** The directory for recorded calls and faults; it is kept when the driver stops. */
  readonly stateDir: string;
  readonly endpoint: string;
  /** The socket in plugins_registry. */
  readonly registrationSocket: string;
  readonly versions?: readonly string[];
  readonly capabilities?: readonly (keyof typeof Rpc)[];
  readonly maxVolumes?: number;
  readonly topology?: Record<string, string>;
  /** Block volumes are loop devices instead of /dev/zero. */
  readonly loopDevices?: boolean;
}

/** Faults by method: the call hangs, is executed and then hangs, succeeds without being executed, takes long, or fails with a gRPC code. */
export type Faults = Record<
  string,
  "hang" | "execute-and-hang" | "skip" | { takesMs: number } | { code: keyof typeof status; message: string }
>;

const standard = ["STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS", "EXPAND_VOLUME"] as const;

/**
 * A small CSI driver on real sockets. A volume is a tmpfs at its staging path, bind-mounted at the target path of
 * each pod; an inline volume is a tmpfs at the target path; a block volume is /dev/zero. It keeps no state in memory, so it can be killed
 * and started again.
 */
export async function serveCsiDriver(options: CsiDriverOptions): Promise<{ stop(): Promise<void> }> {
  const { name, endpoint, registrationSocket, versions = ["1.0.0"] } = options;
  const driver = await listen(
    endpoint,
    [
      [Node, nodeMethods(options)],
      [
        Identity,
        {
          getPluginInfo: async () => ({ name, vendorVersion: "1" }),
          getPluginCapabilities: async () => ({}),
          probe: async () => ({}),
        },
      ],
    ],
    options,
  );
  const registration = await listen(
    registrationSocket,
    [
      [
        Registration,
        {
          getInfo: async () => ({ type: "CSIPlugin", name, endpoint, supportedVersions: [...versions] }),
          notifyRegistrationStatus: async (_: RegistrationStatus) => ({}),
        },
      ],
    ],
    options,
  );
  return {
    async stop() {
      registration.forceShutdown();
      driver.forceShutdown();
      await Promise.all([endpoint, registrationSocket].map((path) => rm(path, { force: true })));
    },
  };
}

type Methods = Record<string, (request: never) => Promise<object>>;

function nodeMethods(options: CsiDriverOptions): Methods {
  const { name, capabilities = standard, maxVolumes = 0, topology = {}, stateDir } = options;
  return {
    nodeGetInfo: async () => ({
      nodeId: `${name}-node`,
      maxVolumesPerNode: BigInt((await readSettings(stateDir)).maxVolumes ?? maxVolumes),
      accessibleTopology: { segments: topology },
    }),
    nodeGetCapabilities: async () => ({
      capabilities: capabilities.map((type) => ({ type: { case: "rpc", value: { type: Rpc[type] } } })),
    }),
    async nodeStageVolume({ stagingTargetPath, volumeCapability }: NodeStageVolumeRequest) {
      if (volumeCapability?.accessType.case === "mount") await tmpfsAt(stagingTargetPath);
      return {};
    },
    async nodeUnstageVolume({ stagingTargetPath }: NodeUnstageVolumeRequest) {
      await hostMounts.unmount(stagingTargetPath);
      return {};
    },
    async nodePublishVolume({
      volumeId,
      targetPath,
      stagingTargetPath,
      volumeCapability,
      readonly,
    }: NodePublishVolumeRequest) {
      if (await hostMounts.isMountPoint(targetPath)) return {};
      if (volumeCapability?.accessType.case === "block") {
        await writeFile(targetPath, "");
        await hostMounts.bind(
          options.loopDevices ? await loopOf(stateDir, volumeId) : "/dev/zero",
          targetPath,
        );
      } else if (stagingTargetPath) {
        await mkdir(targetPath, { recursive: true });
        await hostMounts.bind(stagingTargetPath, targetPath, { readOnly: readonly });
      } else await tmpfsAt(targetPath);
      return {};
    },
    async nodeUnpublishVolume({ volumeId, targetPath }: NodeUnpublishVolumeRequest) {
      await hostMounts.unmount(targetPath);
      if (options.loopDevices) await detachLoopDevice(imageOf(stateDir, volumeId));
      await rm(targetPath, { recursive: true, force: true });
      return {};
    },
    async nodeExpandVolume({ volumePath, stagingTargetPath, capacityRange }: NodeExpandVolumeRequest) {
      const bytes = capacityRange?.requiredBytes ?? 0n;
      await hostMounts.mount("tmpfs", stagingTargetPath || volumePath, "tmpfs", ["remount", `size=${bytes}`]);
      return { capacityBytes: bytes };
    },
    async nodeGetVolumeStats({ volumeId, volumePath }: NodeGetVolumeStatsRequest) {
      const { blocks, bsize, bavail, files, ffree } = await statfs(volumePath, { bigint: true });
      return {
        usage: [
          {
            unit: Unit.BYTES,
            total: blocks * bsize,
            available: bavail * bsize,
            used: (blocks - bavail) * bsize,
          },
          { unit: Unit.INODES, total: files, available: ffree, used: files - ffree },
        ],
        ...(capabilities.includes("VOLUME_CONDITION") && {
          volumeCondition: { abnormal: volumeId.includes("abnormal"), message: "disk is gone" },
        }),
      };
    },
  };
}

function imageOf(stateDir: string, volumeId: string): string {
  return join(stateDir, `${volumeId}.img`);
}

async function loopOf(stateDir: string, volumeId: string): Promise<string> {
  const image = imageOf(stateDir, volumeId);
  await writeFile(image, "", { flag: "a" });
  await truncate(image, 1024 * 1024);
  return attachLoopDevice(image);
}

async function tmpfsAt(path: string): Promise<void> {
  if (await hostMounts.isMountPoint(path)) return;
  await mkdir(path, { recursive: true });
  await hostMounts.mountTmpfs(path, { size: 1024n * 1024n });
}

async function listen(
  path: string,
  services: readonly (readonly [DescService, Methods])[],
  { stateDir }: CsiDriverOptions,
): Promise<Server> {
  await mkdir(dirname(path), { recursive: true });
  await rm(path, { force: true });
  const server = new Server();
  for (const [service, methods] of services) {
    const handlers = service.methods.map((method) => {
      const work = methods[method.localName] as (request: Message) => Promise<object>;
      const handle = async (call: ServerUnaryCall<Message, Message>, callback: sendUnaryData<Message>) => {
        const request = toJson(method.input, call.request);
        await appendFile(
          join(stateDir, "calls.jsonl"),
          `${JSON.stringify({ method: method.name, request })}\n`,
        );
        const fault = (await readFaults(stateDir))[method.name];
        if (fault === "hang") return;
        if (fault === "skip") return callback(null, create(method.output));
        if (typeof fault === "object" && "code" in fault)
          return callback({ code: status[fault.code], details: fault.message });
        try {
          if (typeof fault === "object") await pause(fault.takesMs);
          const result = await work(call.request);
          if (fault === "execute-and-hang") return;
          callback(null, create(method.output, result as MessageInitShape<typeof method.output>));
        } catch (error) {
          callback({ code: status.INTERNAL, details: String(error) });
        }
      };
      return [method.name, handle] as const;
    });
    server.addService(serviceDefinition(service), Object.fromEntries(handlers));
  }
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix://${path}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  return server;
}

/** Settings that can be changed while the driver runs. */
export interface DriverSettings {
  readonly maxVolumes?: number;
}

async function readSettings(stateDir: string): Promise<DriverSettings> {
  const text = await readFile(join(stateDir, "settings.json"), "utf8").catch(() => "{}");
  return JSON.parse(text) as DriverSettings;
}

async function readFaults(stateDir: string): Promise<Faults> {
  const text = await readFile(join(stateDir, "faults.json"), "utf8").catch(() => "{}");
  return JSON.parse(text) as Faults;
}
