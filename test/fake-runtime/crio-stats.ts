import { create } from "@bufbuild/protobuf";
import { epochMs } from "../../src/lib/base/time.ts";
import {
  ContainerState,
  type ContainerStats,
  ContainerStatsSchema,
  ImageFsInfoResponseSchema,
  ListContainerStatsResponseSchema,
  ListMetricDescriptorsResponseSchema,
  ListPodSandboxMetricsResponseSchema,
  ListPodSandboxStatsResponseSchema,
  MetricType,
} from "../../src/lib/gen/runtime/v1/api_pb.js";
import type { Handler, RuntimeState } from "./methods.ts";
import type { FakeContainer, FakeSandbox } from "./pod-records.ts";

/** The root of CRI-O's storage: images, layers, and where layers are mounted. */
export const crioStorage = "/var/lib/containers/storage";

const usageBytes = 20_000_000n;
const workingSetBytes = 12_000_000n;
/** A container without a limit: the largest limit of the kernel, less the working set. */
const unlimited = 9_223_372_036_854_771_712n - workingSetBytes;
const cpuNs = 3_000_000_000n;

const baseLabels = ["id", "image", "namespace", "pod", "container"];

/** The statistics of CRI-O, which differ from cAdvisor's: no page faults, swap equal to memory, available memory without a limit. */
export function crioStats({ pods, clock, images }: RuntimeState): Map<string, Handler> {
  const now = () => BigInt(epochMs(clock.wall())) * 1_000_000n;
  const live = (sandbox?: FakeSandbox) =>
    [...pods.containers.values()].filter(
      (one) =>
        one.state !== ContainerState.CONTAINER_EXITED && (sandbox === undefined || one.sandbox === sandbox),
    );
  const cpu = () => ({ timestamp: now(), usageCoreNanoSeconds: { value: cpuNs } });
  const memory = () => ({
    timestamp: now(),
    workingSetBytes: { value: workingSetBytes },
    usageBytes: { value: usageBytes },
    availableBytes: { value: unlimited },
    rssBytes: { value: 10_000_000n },
    pageFaults: { value: 0n },
    majorPageFaults: { value: 0n },
  });
  const containerStats = ({ id, config }: FakeContainer): ContainerStats =>
    create(ContainerStatsSchema, {
      attributes: { id, metadata: config.metadata, labels: config.labels, annotations: config.annotations },
      cpu: cpu(),
      memory: memory(),
      swap: {
        timestamp: now(),
        swapUsageBytes: { value: usageBytes },
        swapAvailableBytes: { value: unlimited },
      },
      writableLayer: {
        timestamp: now(),
        usedBytes: { value: 8192n },
        inodesUsed: { value: 5n },
        fsId: { mountpoint: `${crioStorage}/overlay/${id}/merged` },
      },
    });
  const link = (name: string, rx: bigint) => ({
    name,
    rxBytes: { value: rx },
    rxErrors: { value: 0n },
    txBytes: { value: 2n * rx },
    txErrors: { value: 0n },
  });

  return new Map<string, Handler>([
    [
      "ListContainerStats",
      async () => create(ListContainerStatsResponseSchema, { stats: live().map(containerStats) }),
    ],
    [
      "ListPodSandboxStats",
      async () =>
        create(ListPodSandboxStatsResponseSchema, {
          stats: [...pods.sandboxes.values()].map((sandbox) => ({
            attributes: { id: sandbox.id, metadata: sandbox.config.metadata, labels: sandbox.config.labels },
            linux: {
              cpu: cpu(),
              memory: memory(),
              process: { timestamp: now(), processCount: { value: 2n } },
              // The first link is the default interface and is not listed.
              network: {
                timestamp: now(),
                defaultInterface: link("lo", 100n),
                interfaces: [link("eth0", 4000n)],
              },
              containers: live(sandbox).map(containerStats),
            },
          })),
        }),
    ],
    [
      "ListMetricDescriptors",
      async () =>
        create(ListMetricDescriptorsResponseSchema, {
          descriptors: [
            {
              name: "container_cpu_usage_seconds_total",
              help: "Cumulative CPU time consumed in seconds.",
              labelKeys: [...baseLabels, "cpu"],
            },
            {
              name: "container_network_receive_bytes_total",
              help: "Cumulative count of bytes received",
              labelKeys: [...baseLabels, "interface"],
            },
          ],
        }),
    ],
    [
      "ListPodSandboxMetrics",
      async () =>
        create(ListPodSandboxMetricsResponseSchema, {
          podMetrics: [...pods.sandboxes.values()].map((sandbox) => ({
            podSandboxId: sandbox.id,
            metrics: [
              {
                name: "container_network_receive_bytes_total",
                metricType: MetricType.COUNTER,
                value: { value: 4000n },
                labelValues: [...labelsOf(sandbox), "eth0"],
              },
            ],
            containerMetrics: live(sandbox).map((container) => ({
              containerId: container.id,
              metrics: [
                {
                  name: "container_cpu_usage_seconds_total",
                  metricType: MetricType.COUNTER,
                  value: { value: cpuNs / 1_000_000_000n },
                  labelValues: [...labelsOf(sandbox, container), "total"],
                },
              ],
            })),
          })),
        }),
    ],
    [
      "ImageFsInfo",
      async () => {
        const mountpoint = `${crioStorage}/overlay-images`;
        const used = { usedBytes: { value: images.usedBytes() }, inodesUsed: { value: 60n } };
        const filesystems = [{ timestamp: now(), fsId: { mountpoint }, ...used }];
        return create(ImageFsInfoResponseSchema, {
          imageFilesystems: filesystems,
          containerFilesystems: filesystems,
        });
      },
    ],
  ]);
}

function labelsOf({ id, config }: FakeSandbox, container?: FakeContainer): string[] {
  const { name = "", namespace = "" } = config.metadata ?? {};
  const { image, metadata } = container?.config ?? {};
  return container
    ? [container.id, image?.image ?? "", namespace, name, metadata?.name ?? ""]
    : [id, "", namespace, name, "POD"];
}
