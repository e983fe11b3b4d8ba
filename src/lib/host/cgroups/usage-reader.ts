import { type CgroupFiles, hostCgroupFiles } from "./files.ts";
import type { CgroupLayout } from "./layout.ts";
import type { CgroupUsageReader } from "./usage.ts";
import { V1UsageReader } from "./usage-v1.ts";
import { V2UsageReader } from "./usage-v2.ts";

export function cgroupUsageReader(
  layout: CgroupLayout,
  files: Pick<CgroupFiles, "read" | "dirs"> = hostCgroupFiles,
): CgroupUsageReader {
  return layout.version === 1
    ? new V1UsageReader(layout.mounts, files)
    : new V2UsageReader(layout.root, files);
}
