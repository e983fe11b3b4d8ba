import type { Machine } from "./machine.ts";

/** Directories that package management, containerd and the journal keep for themselves. */
const unrelated = [
  "/var/lib/dpkg",
  "/var/lib/apt",
  "/var/lib/containerd",
  "/var/lib/cni",
  "/var/cache/apt",
  "/var/cache/debconf",
  "/var/log/apt",
  "/var/log/journal",
];
/** Files that each use of dpkg changes. */
const changing = [
  "/var/log/dpkg.log",
  "/var/log/alternatives.log",
  "/etc/ld.so.cache",
  "/var/cache/ldconfig/aux-cache",
];

/** The names of all packages that are installed, or have left configuration files. */
export async function installedPackages(machine: Machine): Promise<string[]> {
  return (await machine.sh("dpkg-query -W -f '${Package}\\n'")).trim().split("\n");
}

/** The files of the system with type, mode, owner and target of links; those in /etc also with their content. */
export async function systemFiles(machine: Machine): Promise<Map<string, string>> {
  const prune = `\\( ${unrelated.map((path) => `-path ${path}`).join(" -o ")} \\) -prune`;
  const output = await machine.sh(
    `find /etc /usr /var /opt /root /srv /home -xdev ${prune} -o -printf '%p %y %m %u:%g %l\\n'
     find /etc -xdev -type f -exec sha256sum {} + | sed -E 's/^([0-9a-f]+)  (.*)$/\\2 \\1/'`,
    { timeoutMs: 400_000 },
  );
  const files = new Map<string, string>();
  for (const line of output.trim().split("\n")) {
    const [path = "", ...rest] = line.split(" ");
    if (!changing.includes(path)) files.set(path, [files.get(path) ?? "", ...rest].join(" ").trim());
  }
  return files;
}

/** The differences as "+ path", "- path" and "! path", sorted by path. */
export function compareFiles(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => `${!before.has(path) ? "+" : !after.has(path) ? "-" : "!"} ${path}`);
}
