/**
 * Whether the installed packages match the lock file; both are the "packages" of a lock file of npm. Which of the optional
 * packages fit the machine is npm's decision: only their versions are compared.
 */
export function versionsMatch(locked, installed) {
  return (
    Object.entries(locked).every(([name, { optional }]) => name === "" || optional || name in installed) &&
    Object.entries(installed).every(([name, { version }]) => locked[name]?.version === version)
  );
}

/** The paths of the packages of a lock file that fit this machine. */
export function packagesForHere(locked, { platform, arch } = process) {
  const fits = (wanted, value) => !wanted || wanted.includes(value);
  return Object.entries(locked)
    .filter(
      ([path, { os, cpu, libc }]) => path && fits(os, platform) && fits(cpu, arch) && fits(libc, "glibc"),
    )
    .map(([path]) => path);
}
