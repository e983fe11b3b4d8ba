import { constants, type FileHandle, open } from "node:fs/promises";
import { errnoOf } from "../base/errors.ts";
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

const getAttributes = 0x801c581f; // FS_IOC_FSGETXATTR
const setAttributes = 0x401c5820; // FS_IOC_FSSETXATTR
const attributeBytes = 28; // struct fsxattr
const flagsAt = 0;
const projectAt = 12;
const inheritsProject = 0x200; // FS_XFLAG_PROJINHERIT

/** A command for project quotas: QCMD(command, PRJQUOTA). */
const quotaCommand = (command: number) => ((command << 8) | 2) >>> 0;
const getState = quotaCommand(0x5805); // Q_XGETQSTAT
const stateBytes = 80; // struct fs_quota_stat
const stateFlagsAt = 2;
const isCountingProjects = 1 << 4; // FS_QUOTA_PDQ_ACCT
const getQuota = quotaCommand(0x800007); // Q_GETQUOTA
const quotaBytes = 72; // struct if_dqblk
const spaceAt = 16;
const inodesAt = 40;

export const projectQuotas: ProjectQuotas = {
  isCounting: (dir) =>
    withDir(dir, async ({ fd }) => {
      const state = Buffer.alloc(stateBytes);
      try {
        await (await libc()).quotactl(fd, getState, 0, state);
      } catch {
        return false; // no quotas on this filesystem, in this kernel, or for this process
      }
      return (state.readUInt16LE(stateFlagsAt) & isCountingProjects) !== 0;
    }),
  projectOf: (dir) => withDir(dir, async (handle) => (await attributesOf(handle)).readUInt32LE(projectAt)),
  setProject: (dir, project) =>
    withDir(dir, async (handle) => {
      const attributes = await attributesOf(handle);
      const flags = attributes.readUInt32LE(flagsAt);
      attributes.writeUInt32LE(
        (project === 0 ? flags & ~inheritsProject : flags | inheritsProject) >>> 0,
        flagsAt,
      );
      attributes.writeUInt32LE(project, projectAt);
      (await libc()).ioctlBuffer(handle.fd, setAttributes, attributes);
    }),
  usageOf: (dir, project) =>
    withDir(dir, async ({ fd }) => {
      const quota = Buffer.alloc(quotaBytes);
      try {
        await (await libc()).quotactl(fd, getQuota, project, quota);
      } catch (error) {
        if (errnoOf(error) === "ENOENT") return { bytes: 0, inodes: 0 }; // XFS: a project without files
        throw error;
      }
      return {
        bytes: Number(quota.readBigUInt64LE(spaceAt)),
        inodes: Number(quota.readBigUInt64LE(inodesAt)),
      };
    }),
};

async function attributesOf({ fd }: FileHandle): Promise<Buffer> {
  const attributes = Buffer.alloc(attributeBytes);
  (await libc()).ioctlBuffer(fd, getAttributes, attributes);
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
