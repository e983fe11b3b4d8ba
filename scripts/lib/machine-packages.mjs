/** The Debian release that the guests of test/machine are built from. It has the newest containerd 1.6. */
export const machineSuite = "bookworm";

/** The Debian release whose kernel runs guests with cgroup v2; the kernel of `machineSuite` runs guests with v1. */
export const kernelSuite = "forky";

/**
 * The packages of each release: kernels of guests with their modules, the C library of the newer kernel, and the program that builds the root
 * filesystem. The packages are unpacked, not installed.
 */
export const machineTools = {
  // Kernels from 6.16 on trace system calls of guests with seccomp instead of ptrace, which is several times faster.
  [kernelSuite]: ["user-mode-linux", "libc6"],
  // The newer kernel lacks the memory controller of v1.
  [machineSuite]: ["user-mode-linux", "mmdebstrap"],
};

/** The packages of the base disk in addition to a minimal Debian: an init system, and the dependencies of Debian's kernel packages. */
export const basePackages = ["init", "kmod", "udev"];

/** The packages that are installed in the other guests in addition to a minimal Debian. */
export const machinePackages = [
  "systemd",
  "systemd-sysv",
  "dbus",
  "libpam-systemd",
  "udev",
  "kmod",
  "containerd",
  "runc",
  "containernetworking-plugins",
  "iptables",
  "iproute2",
  "procps",
  "curl",
  "e2fsprogs",
  // Servers and clients of network volumes, and AppArmor.
  "nfs-common",
  "nfs-ganesha",
  "nfs-ganesha-vfs",
  "open-iscsi",
  "tgt",
  "apparmor",
];

/** Units that cost time at boot and that no test needs. */
export const maskedUnits = [
  "apt-daily.timer",
  "apt-daily-upgrade.timer",
  "dpkg-db-backup.timer",
  "e2scrub_all.timer",
  "e2scrub_reap.service",
  "fstrim.timer",
  "getty.target",
  "kmod-static-nodes.service",
  "modprobe@.service",
  "sys-fs-fuse-connections.mount",
  "sys-kernel-config.mount",
  "systemd-journal-flush.service",
  "systemd-modules-load.service",
  "systemd-random-seed.service",
  "systemd-sysusers.service",
  "systemd-timesyncd.service",
  "systemd-udev-trigger.service",
  "systemd-update-utmp.service",
  "systemd-update-utmp-runlevel.service",
];

/** A test starts what it needs, with its own configuration. */
export const disabledUnits = [
  "containerd.service",
  "nfs-ganesha.service",
  "nfs-client.target",
  "rpcbind.service",
  "rpcbind.socket",
  "open-iscsi.service",
  "iscsid.socket",
  "tgt.service",
  "apparmor.service",
];
