import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import {
  type Container,
  type ContainerConfig,
  type ContainerFilter,
  ContainerSchema,
  ContainerState,
  type ContainerStatus,
  ContainerStatusSchema,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  PodSandboxSchema,
  type PodSandboxState,
  type PodSandboxStatus,
  PodSandboxStatusSchema,
} from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { LogFile } from "./log-file.ts";
import type { FakeProcess } from "./process.ts";
import type { Program } from "./program.ts";

export interface FakeSandbox {
  readonly id: string;
  readonly name: string;
  readonly config: PodSandboxConfig;
  readonly handler: string;
  readonly createdAt: bigint;
  state: PodSandboxState;
  ip: string;
}

export interface FakeContainer {
  readonly id: string;
  readonly name: string;
  readonly sandbox: FakeSandbox;
  readonly config: ContainerConfig;
  readonly imageId: string;
  readonly createdAt: bigint;
  readonly program: Program | undefined;
  readonly log: LogFile;
  process: FakeProcess | undefined;
  state: ContainerState;
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  reason: string;
  message: string;
}

/** It has a process, even in the unknown state. */
export function isLive({ state }: FakeContainer): boolean {
  return state === ContainerState.CONTAINER_RUNNING || state === ContainerState.CONTAINER_UNKNOWN;
}

export function sandboxMatches(sandbox: FakeSandbox, filter: PodSandboxFilter | undefined): boolean {
  return (
    sandbox.id.startsWith(filter?.id ?? "") &&
    (filter?.state === undefined || sandbox.state === filter.state.state) &&
    selects(filter?.labelSelector, sandbox.config.labels)
  );
}

export function containerMatches(container: FakeContainer, filter: ContainerFilter | undefined): boolean {
  return (
    container.id.startsWith(filter?.id ?? "") &&
    container.sandbox.id.startsWith(filter?.podSandboxId ?? "") &&
    (filter?.state === undefined || container.state === filter.state.state) &&
    selects(filter?.labelSelector, container.config.labels)
  );
}

export function sandboxItem(sandbox: FakeSandbox): PodSandbox {
  return create(PodSandboxSchema, sandboxFields(sandbox));
}

export function containerItem(container: FakeContainer): Container {
  return create(ContainerSchema, { ...containerFields(container), podSandboxId: container.sandbox.id });
}

export function sandboxStatus(sandbox: FakeSandbox): PodSandboxStatus {
  return create(PodSandboxStatusSchema, {
    ...sandboxFields(sandbox),
    network: { ip: sandbox.ip },
    linux: { namespaces: { options: sandbox.config.linux?.securityContext?.namespaceOptions } },
  });
}

export function containerStatus(container: FakeContainer): ContainerStatus {
  const { config, startedAt, finishedAt, exitCode, reason, message } = container;
  return create(ContainerStatusSchema, {
    ...containerFields(container),
    startedAt,
    finishedAt,
    exitCode,
    reason,
    message,
    mounts: config.mounts,
    logPath: logPathOf(container.sandbox, config),
    resources: { linux: config.linux?.resources },
    user: { linux: userOf(config) },
  });
}

function userOf({ linux }: ContainerConfig) {
  const { runAsUser, runAsGroup, supplementalGroups = [] } = linux?.securityContext ?? {};
  const gid = runAsGroup?.value ?? 0n;
  // As a process sees it: its own group is among the others.
  const groups = [gid, ...supplementalGroups.filter((group) => group !== gid)];
  return { uid: runAsUser?.value ?? 0n, gid, supplementalGroups: groups };
}

/** The log path; empty for no log. */
export function logPathOf(sandbox: FakeSandbox, config: ContainerConfig): string {
  const { logDirectory } = sandbox.config;
  return logDirectory && config.logPath ? join(logDirectory, config.logPath) : "";
}

/** Finds a record by ID or, as containerd allows, by a prefix. */
export function byId<T extends { id: string }>(all: Map<string, T>, id: string): T | undefined {
  if (id === "") return undefined;
  const matches = [...all.values()].filter((one) => one.id.startsWith(id));
  return matches.length === 1 ? matches[0] : undefined;
}

function selects(selector: Record<string, string> = {}, labels: Record<string, string>): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

function sandboxFields({ id, config, state, createdAt, handler }: FakeSandbox) {
  const { metadata, labels, annotations } = config;
  return { id, metadata, state, createdAt, labels, annotations, runtimeHandler: handler };
}

function containerFields({ id, config, state, createdAt, imageId }: FakeContainer) {
  const { metadata, labels, annotations, image } = config;
  return { id, metadata, state, createdAt, labels, annotations, image, imageRef: imageId, imageId };
}
