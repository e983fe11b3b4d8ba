import type { WallTime } from "../../../lib/base/time.ts";
import type { BlockDevice } from "../../../lib/host/block-devices.ts";
import type { CgroupRow } from "../../stats/cgroup-rows.ts";
import type { Disk } from "../../stats/disks.ts";
import { labelsOf } from "./container-families.ts";
import type { Family, MetricType, Sample } from "./exposition.ts";

export interface Disks {
  readonly disks: readonly Disk[];
  /** "8:0" as "/dev/sda". */
  deviceName(device: string): string;
}

const machine = { id: "/", name: "", image: "", namespace: "", pod: "", container: "" };

/** Disks of the machine, and the I/O of each container. */
export function filesystemFamilies(
  rows: readonly CgroupRow[],
  { disks, deviceName }: Disks,
  time: WallTime,
): Family[] {
  const ofDisks = (of: (disk: Disk) => number | undefined): Sample[] =>
    disks.flatMap((disk) => sampleOf({ ...machine, device: disk.device }, of(disk), time));
  const ofCounts = (of: (counts: BlockDevice) => number) => ofDisks(({ counts }) => counts && of(counts));
  const ofLayers = (of: (layer: NonNullable<CgroupRow["layer"]>) => number): Sample[] =>
    rows.flatMap((row) =>
      row.layer ? sampleOf({ ...labelsOf(row), device: row.layer.device }, of(row.layer), row.time) : [],
    );
  const ofIo = (key: "reads" | "writes" | "readBytes" | "writeBytes"): Sample[] =>
    rows.flatMap((row) =>
      (row.usage.io ?? []).flatMap((io) =>
        sampleOf(
          { ...labelsOf(row), device: nameFor(row, io.device, { disks, deviceName }) },
          io[key],
          row.time,
        ),
      ),
    );
  /** Operations of the machine: as its cgroup counts them, and of other disks as the disk counts them. */
  const ofOperations = (key: "reads" | "writes"): Sample[] => {
    const counted = ofIo(key);
    const known = new Set(
      counted.filter(({ labels }) => labels.id === "/").map(({ labels }) => labels.device),
    );
    const others = ofCounts((c) => c[key]).filter(({ labels }) => !known.has(labels.device));
    return [...others, ...counted];
  };
  const family = (name: string, type: MetricType, help: string, ...samples: Sample[][]): Family => ({
    name: `container_fs_${name}`,
    type,
    help,
    samples: samples.flat(),
  });
  return [
    family(
      "usage_bytes",
      "gauge",
      "Number of bytes that are consumed by the container on this filesystem.",
      ofDisks((d) => d.space.usedBytes),
      ofLayers((l) => l.usedBytes),
    ),
    family(
      ...([
        "limit_bytes",
        "gauge",
        "Number of bytes that can be consumed by the container on this filesystem.",
      ] as const),
      ...[ofDisks((d) => d.space.capacityBytes), ofLayers((l) => l.space.capacityBytes)],
    ),
    // A container has no inode limit: its total is its usage, and none is free.
    family(
      ...(["inodes_free", "gauge", "Number of available Inodes"] as const),
      ...[ofDisks((d) => d.space.inodesFree), ofLayers(() => 0)],
    ),
    family(
      ...(["inodes_total", "gauge", "Number of Inodes"] as const),
      ...[ofDisks((d) => d.space.inodes), ofLayers((l) => l.inodesUsed)],
    ),
    family("reads_total", "counter", "Cumulative count of reads completed", ofOperations("reads")),
    family("writes_total", "counter", "Cumulative count of writes completed", ofOperations("writes")),
    family("reads_bytes_total", "counter", "Cumulative count of bytes read", ofIo("readBytes")),
    family("writes_bytes_total", "counter", "Cumulative count of bytes written", ofIo("writeBytes")),
    family(
      "reads_merged_total",
      "counter",
      "Cumulative count of reads merged",
      ofCounts((c) => c.readsMerged),
    ),
    family(
      "writes_merged_total",
      "counter",
      "Cumulative count of writes merged",
      ofCounts((c) => c.writesMerged),
    ),
    family(
      "sector_reads_total",
      "counter",
      "Cumulative count of sector reads completed",
      ofCounts((c) => c.sectorsRead),
    ),
    family(
      "sector_writes_total",
      "counter",
      "Cumulative count of sector writes completed",
      ofCounts((c) => c.sectorsWritten),
    ),
    family(
      "read_seconds_total",
      "counter",
      "Cumulative count of seconds spent reading",
      ofCounts((c) => c.readMs / 1000),
    ),
    family(
      "write_seconds_total",
      "counter",
      "Cumulative count of seconds spent writing",
      ofCounts((c) => c.writeMs / 1000),
    ),
    family(
      "io_current",
      "gauge",
      "Number of I/Os currently in progress",
      ofCounts((c) => c.inFlight),
    ),
    family(
      "io_time_seconds_total",
      "counter",
      "Cumulative count of seconds spent doing I/Os",
      ofCounts((c) => c.ioMs / 1000),
    ),
    family(
      ...(["io_time_weighted_seconds_total", "counter", "Cumulative weighted I/O time in seconds"] as const),
      ofCounts((c) => c.weightedIoMs / 1000),
    ),
  ];
}

/** The bytes that each cgroup read and wrote, by device and operation. */
export function deviceBytesFamily(rows: readonly CgroupRow[], disks: Disks): Family {
  const samples = rows.flatMap((row) =>
    (row.usage.io ?? []).flatMap(({ device, bytes }) => {
      const [major = "", minor = ""] = device.split(":");
      const labels = { ...labelsOf(row), device: nameFor(row, device, disks), major, minor };
      return Object.entries(bytes).map(([operation, value]) => ({
        labels: { ...labels, operation },
        value,
        time: row.time,
      }));
    }),
  );
  return {
    name: "container_blkio_device_usage_total",
    type: "counter",
    help: "Blkio Device bytes usage",
    samples,
  };
}

/** The machine's devices have the names under which they are mounted: "/dev/root". */
function nameFor({ id }: CgroupRow, number: string, { disks, deviceName }: Disks): string {
  const mounted = id === "/" ? disks.find((disk) => disk.number === number) : undefined;
  return mounted?.device ?? deviceName(number);
}

function sampleOf(labels: Sample["labels"], value: number | undefined, time: WallTime): Sample[] {
  return value === undefined ? [] : [{ labels, value, time }];
}
