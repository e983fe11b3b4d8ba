import { constants, type FileHandle, open } from "node:fs/promises";
import { errnoOf } from "../base/errors.ts";
import { layout, linux } from "../base/linux.ts";
import type { DiskUsage } from "./disk-usage.ts";
import { libc } from "./libc.ts";

/** Project quotas of the filesystem with a directory: the kernel counts the usage of a tree while it is being written. */
export interface ProjectQuotas {
  /** Whether the filesystem counts usage by project: XFS or ext4, mounted with `prjquota`. */
  isCounting(dir: string): Promise<boolean>;
  /** The project of a directory; 0 if it has none. */
  projectOf(dir: string): Promise<number>;
  /** Files and directories that are created below an empty directory from now on belong to the project; 0 for none. */
  setProject(dir: string, project: number): Promise<void>;
  /** The usage of a project on the filesystem of the directory. */
  usageOf(dir: string, project: number): Promise<DiskUsage>;
}

/** A command for project quotas, as QCMD in C. */
const quotaCommand = (command: number) => ((command << 8) | linux.PRJQUOTA) >>> 0;
const projectAt = layout["offsetof(struct fsxattr, fsx_projid)"];
const flagsAt = layout["offsetof(struct fsxattr, fsx_xflags)"];

export const projectQuotas: ProjectQuotas = {
  isCounting: (dir) =>
    withDir(dir, async ({ fd }) => {
      const state = Buffer.alloc(layout["sizeof(struct fs_quota_stat)"]);
      try {
        await (await libc()).quotactl(fd, quotaCommand(linux.Q_XGETQSTAT), 0, state);
      } catch {
        return false; // no quotas on this filesystem, in this kernel, or for this process
      }
      return (
        (state.readUInt16LE(layout["offsetof(struct fs_quota_stat, qs_flags)"]) & linux.FS_QUOTA_PDQ_ACCT) !==
        0
      );
    }),
  projectOf: (dir) => withDir(dir, async (handle) => (await attributesOf(handle)).readUInt32LE(projectAt)),
  setProject: (dir, project) =>
    withDir(dir, async (handle) => {
      const attributes = await attributesOf(handle);
      const flags = attributes.readUInt32LE(flagsAt);
      attributes.writeUInt32LE(
        (project === 0 ? flags & ~linux.FS_XFLAG_PROJINHERIT : flags | linux.FS_XFLAG_PROJINHERIT) >>> 0,
        flagsAt,
      );
      attributes.writeUInt32LE(project, projectAt);
      (await libc()).ioctlBuffer(handle.fd, linux.FS_IOC_FSSETXATTR, attributes);
    }),
  usageOf: (dir, project) =>
    withDir(dir, async ({ fd }) => {
      const quota = Buffer.alloc(layout["sizeof(struct if_dqblk)"]);
      try {
        await (await libc()).quotactl(fd, quotaCommand(linux.Q_GETQUOTA), project, quota);
      } catch (error) {
        if (errnoOf(error) === "ENOENT") return { bytes: 0, inodes: 0 }; // XFS: a project without files
        throw error;
      }
      return {
        bytes: Number(quota.readBigUInt64LE(layout["offsetof(struct if_dqblk, dqb_curspace)"])),
        inodes: Number(quota.readBigUInt64LE(layout["offsetof(struct if_dqblk, dqb_curinodes)"])),
      };
    }),
};

async function attributesOf({ fd }: FileHandle): Promise<Buffer> {
  const attributes = Buffer.alloc(layout["sizeof(struct fsxattr)"]);
  (await libc()).ioctlBuffer(fd, linux.FS_IOC_FSGETXATTR, attributes);
  return attributes;
}

async function withDir<T>(dir: string, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}
