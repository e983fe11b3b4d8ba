import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CgroupPath } from "./cgroup-filesystem.ts";
import type { CgroupLayout } from "./layout.ts";
import { weightToShares } from "./weight.ts";

/** The limits of a cgroup; absent: no limit, or it could not be read. */
export interface CgroupLimits {
  cpuShares?: bigint;
  cpuQuotaUs?: bigint;
  cpuPeriodUs?: bigint;
  memoryLimit?: bigint;
}

/**
 * Reads the effective limits, synchronously: cgroup files need no disk access.
 * Version 1 writes "no limit" for memory as a number of bytes, and so do we.
 */
export function limitsReader(layout: CgroupLayout): (path: CgroupPath) => CgroupLimits {
  return layout.version === 1
    ? (path) => {
        // No join(): every status needs these four paths.
        const at = (controller: string, file: string) =>
          numberAt(`${layout.mounts.get(controller) ?? ""}${path}/${file}`);
        return present({
          cpuShares: at("cpu", "cpu.shares"),
          cpuQuotaUs: at("cpu", "cpu.cfs_quota_us"),
          cpuPeriodUs: at("cpu", "cpu.cfs_period_us"),
          memoryLimit: at("memory", "memory.limit_in_bytes"),
        });
      }
    : (path) => {
        const dir = join(layout.root, path);
        const weight = numberAt(join(dir, "cpu.weight"));
        const [quota, period] = textAt(join(dir, "cpu.max"))?.split(" ") ?? [];
        return present({
          cpuShares: weight === undefined ? undefined : weightToShares(weight),
          cpuQuotaUs: quota === "max" ? -1n : wholeNumber(quota),
          cpuPeriodUs: wholeNumber(period),
          memoryLimit: numberAt(join(dir, "memory.max")),
        });
      };
}

function present(values: { [K in keyof CgroupLimits]: bigint | undefined }): CgroupLimits {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function numberAt(path: string): bigint | undefined {
  return wholeNumber(textAt(path));
}

/** Undefined for "max" and for a missing file. */
function wholeNumber(text: string | undefined): bigint | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? BigInt(text) : undefined;
}

function textAt(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    // The cgroup does not exist yet, was removed, or has no such controller.
    return undefined;
  }
}
