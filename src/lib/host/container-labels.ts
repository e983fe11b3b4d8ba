import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The SELinux labels of containers and of their files, according to the policy of the host; empty if it specifies none. */
export interface ContainerLabels {
  readonly process: string;
  readonly file: string;
}

/** Reads the file from which container runtimes take their default labels. */
export async function readContainerLabels(root = "/"): Promise<ContainerLabels> {
  const type = (await assignments(join(root, "etc/selinux/config")))?.get("SELINUXTYPE") ?? "";
  const labels =
    (await assignments(join(root, "usr/share/containers/selinux/contexts"))) ??
    (await assignments(join(root, "etc/selinux", type, "contexts/lxc_contexts")));
  return { process: labels?.get("process") ?? "", file: labels?.get("file") ?? "" };
}

/** The lines `name = "value"` of a file; undefined if it cannot be read. */
async function assignments(path: string): Promise<Map<string, string> | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const values = new Map<string, string>();
  for (const line of text.split("\n").map((part) => part.trim())) {
    const at = line.indexOf("=");
    if (at < 0 || line.startsWith("#") || line.startsWith(";")) continue;
    values.set(
      line.slice(0, at).trim(),
      line
        .slice(at + 1)
        .trim()
        .replaceAll('"', ""),
    );
  }
  return values;
}
