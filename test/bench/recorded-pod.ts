import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { clone, type DescMessage, fromJson, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { systemClock } from "../../src/lib/base/clock.ts";
import type { ContainerConfigInit, PodSandboxConfigInit } from "../../src/lib/clients/cri/cri.ts";
import { socketPathOf } from "../../src/lib/clients/cri/endpoint.ts";
import { callUnary, openChannel } from "../../src/lib/clients/cri/grpc-call.ts";
import {
  ContainerConfigSchema,
  PodSandboxConfigSchema,
  RuntimeService,
} from "../../src/lib/gen/runtime/v1/api_pb.js";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";

/** The requests of the kubelet for one pod, as reported by the runtime: the runtime floor sends the same. */
export interface RecordedPod {
  uid: string;
  name: string;
  sandbox: JsonValue;
  container: JsonValue;
  /** Files that the kubelet created for the pod and mounts into it; undefined for a directory. */
  files: Map<string, Uint8Array | undefined>;
}

/** The same requests for a pod of another name. */
export interface CopiedPod {
  uid: string;
  sandbox: PodSandboxConfigInit & { logDirectory: string };
  container: ContainerConfigInit;
  /** The container after it was restarted once. */
  restartedContainer: ContainerConfigInit;
  /** Creates the directories, mounted files and the cgroup that the kubelet would have created. */
  prepare(): Promise<void>;
  cleanUp(): Promise<void>;
}

/** Reads the requests that created this sandbox and container from the runtime. */
export async function recordPod(
  endpoint: string,
  sandboxId: string,
  containerId: string,
): Promise<RecordedPod> {
  const channel = openChannel(socketPathOf(endpoint));
  const options = { clock: systemClock, timeoutMs: 10_000, signal: undefined };
  try {
    const { podSandboxStatus, containerStatus } = RuntimeService.method;
    const sandbox = await callUnary(
      channel,
      podSandboxStatus,
      { podSandboxId: sandboxId, verbose: true },
      options,
    );
    const container = await callUnary(channel, containerStatus, { containerId, verbose: true }, options);
    const { uid = "", name = "" } = sandbox.status?.metadata ?? {};
    const config = withEncodedValues(configIn(container.info));
    const files = fromJson(ContainerConfigSchema, config)
      .mounts.map((mount) => mount.hostPath)
      .filter((path) => path.includes(uid))
      .map((path) => [path, statSync(path).isDirectory() ? undefined : readFileSync(path)] as const);
    return { uid, name, sandbox: configIn(sandbox.info), container: config, files: new Map(files) };
  } finally {
    channel.close();
  }
}

function configIn(info: Record<string, string>): JsonValue {
  const { config } = JSON.parse(info.info ?? "{}") as { config?: JsonValue };
  if (!config) throw new Error("the runtime does not report its requests");
  return config;
}

/** Values of variables are strings in the runtime's JSON, but bytes in our types. */
function withEncodedValues(config: JsonValue): JsonValue {
  const { envs = [], ...rest } = config as { envs?: { key: string; value?: string }[] };
  return {
    ...(rest as Record<string, JsonValue>),
    envs: envs.map(({ key, value = "" }) => ({ key, value: Buffer.from(value).toString("base64") })),
  };
}

export function copyPod(recorded: RecordedPod, uid: string, name: string): CopiedPod {
  const renamed = <S extends DescMessage>(schema: S, config: JsonValue): MessageShape<S> => {
    const json = JSON.stringify(config).replaceAll(recorded.uid, uid).replaceAll(recorded.name, name);
    return fromJson(schema, JSON.parse(json) as JsonValue);
  };
  const sandbox = renamed(PodSandboxConfigSchema, recorded.sandbox);
  const container = renamed(ContainerConfigSchema, recorded.container);
  const restartedContainer = clone(ContainerConfigSchema, container);
  restartedContainer.metadata!.attempt++;
  const cgroup = sandbox.linux?.cgroupParent ?? "";
  const files = [...recorded.files].map(
    ([path, content]) => [path.replaceAll(recorded.uid, uid), content] as const,
  );
  return {
    uid,
    sandbox,
    container,
    restartedContainer,
    async prepare() {
      mkdirSync(`${sandbox.logDirectory}/${dirname(container.logPath)}`, { recursive: true });
      for (const [path, content] of files) {
        mkdirSync(content ? dirname(path) : path, { recursive: true });
        if (content) writeFileSync(path, content);
      }
      await cgroupFilesystem(await detectLayout()).create(cgroup, {});
    },
    async cleanUp() {
      rmSync(sandbox.logDirectory, { recursive: true, force: true });
      for (const [path] of files) rmSync(path, { recursive: true, force: true });
      await cgroupFilesystem(await detectLayout()).remove(cgroup);
    },
  };
}
