import { linux } from "../base/linux.ts";

const noexec = linux.MS_NOEXEC;
const nosuid = linux.MS_NOSUID;
const nodev = linux.MS_NODEV;

/** Options that are mount flags; [set, clear]. */
const flagOf: Readonly<Record<string, readonly [number, number]>> = {
  ro: [linux.MS_RDONLY, 0],
  rw: [0, linux.MS_RDONLY],
  nosuid: [nosuid, 0],
  suid: [0, nosuid],
  nodev: [nodev, 0],
  dev: [0, nodev],
  noexec: [noexec, 0],
  exec: [0, noexec],
  sync: [linux.MS_SYNCHRONOUS, 0],
  async: [0, linux.MS_SYNCHRONOUS],
  dirsync: [linux.MS_DIRSYNC, 0],
  noatime: [linux.MS_NOATIME, 0],
  atime: [0, linux.MS_NOATIME],
  nodiratime: [linux.MS_NODIRATIME, 0],
  diratime: [0, linux.MS_NODIRATIME],
  relatime: [linux.MS_RELATIME, 0],
  norelatime: [0, linux.MS_RELATIME],
  strictatime: [linux.MS_STRICTATIME, 0],
  nostrictatime: [0, linux.MS_STRICTATIME],
  lazytime: [linux.MS_LAZYTIME, 0],
  nolazytime: [0, linux.MS_LAZYTIME],
  iversion: [linux.MS_I_VERSION, 0],
  noiversion: [0, linux.MS_I_VERSION],
  mand: [linux.MS_MANDLOCK, 0],
  nomand: [0, linux.MS_MANDLOCK],
  silent: [linux.MS_SILENT, 0],
  loud: [0, linux.MS_SILENT],
  nosymfollow: [linux.MS_NOSYMFOLLOW, 0],
  symfollow: [0, linux.MS_NOSYMFOLLOW],
  remount: [linux.MS_REMOUNT, 0],
  bind: [linux.MS_BIND, 0],
  rbind: [linux.MS_BIND | linux.MS_REC, 0],
  // These allow users to mount it, and imply what users must not be able to bring with a filesystem.
  user: [noexec | nosuid | nodev, 0],
  users: [noexec | nosuid | nodev, 0],
  owner: [nosuid | nodev, 0],
  group: [nosuid | nodev, 0],
};

/** Options for mount(8), fstab, systemd and mount helpers. No filesystem knows them. */
const isForPrograms = (name: string): boolean =>
  programOptions.has(name) || name.startsWith("x-") || name.startsWith("X-");
const programOptions = new Set([
  "defaults",
  "auto",
  "noauto",
  "nofail",
  "_netdev",
  "comment",
  "nouser",
  "nousers",
  "noowner",
  "nogroup",
  "encryption",
  "uhelper",
  "helper",
]);

/** The options that the kernel rejects without SELinux. mount(8) omits them. */
const selinuxOptions = new Set(["context", "fscontext", "defcontext", "rootcontext", "seclabel"]);

/** Translates options of mount(8) for mount(2), which accepts flags and the options of the filesystem only. */
export function kernelOptions(
  options: readonly string[],
  selinux: boolean,
): { readonly flags: number; readonly data: string } {
  let flags = 0;
  const data: string[] = [];
  for (const option of options.flatMap(splitOptions)) {
    const name = option.split("=", 1)[0]!;
    // "user=name" is an entry of a mount table; with other names a value belongs to an option of the filesystem.
    const known = option === name || name === "user" ? flagOf[name] : undefined;
    if (known) flags = (flags | known[0]) & ~known[1];
    else if (!isForPrograms(name) && (selinux || !selinuxOptions.has(name))) data.push(option);
  }
  return { flags, data: data.join(",") };
}

/** Splits the text at commas outside of quotes: levels of SELinux labels contain commas. */
function splitOptions(options: string): string[] {
  return (options.match(/(?:"[^"]*"|[^,])+/g) ?? []).map((option) => option.trim()).filter((o) => o !== "");
}
