import { randomBytes } from "node:crypto";
import { chmod, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, KubeletError } from "../../../../lib/base/errors.ts";
import { replaceDurably } from "../../../../lib/host/durable-file.ts";

/** Where versions of open-iscsi keep their records. */
export const recordDirs: readonly string[] = ["/etc/iscsi", "/var/lib/iscsi"];

const endOfRecord = "# END RECORD";

/** The records are on another filesystem than their directory, by a link or a mount, or the directory itself is read-only. */
const elsewhere = new Set(["EXDEV", "EROFS"]);

export interface RecordFile {
  readonly path: string;
  /** The directory of all records. */
  readonly dir: string;
}

/** The files of the records of a target at a portal, for an interface; none if iscsiadm keeps them elsewhere. */
export async function nodeRecords(
  dirs: readonly string[],
  { target, portal, iface }: { target: string; portal: string; iface: string },
): Promise<RecordFile[]> {
  const prefix = portalPrefix(portal);
  const found: RecordFile[] = [];
  for (const dir of dirs) {
    const ofTarget = join(dir, "nodes", target);
    // "192.0.2.1,3260,1", with the portal group.
    for (const name of await namesIn(ofTarget))
      if (name === prefix || name.startsWith(`${prefix},`)) {
        const ifaces = await namesIn(join(ofTarget, name));
        if (ifaces.includes(iface)) found.push({ path: join(ofTarget, name, iface), dir });
      }
  }
  return found;
}

/** The same for the discovery of targets at a portal. */
export async function discoveryRecords(dirs: readonly string[], portal: string): Promise<RecordFile[]> {
  const found: RecordFile[] = [];
  for (const dir of dirs) {
    const record = join(dir, "send_targets", portalPrefix(portal));
    if ((await namesIn(record)).includes("st_config")) found.push({ path: join(record, "st_config"), dir });
  }
  return found;
}

/** Replaces values of a record, which only root can read. No value may contain a control character. */
export async function setInRecord(
  { path, dir }: RecordFile,
  values: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [key, value] of values)
    if (/\p{Cc}/u.test(value)) throw new KubeletError("Iscsi", `iscsi: the value of ${key} is not one line`);
  const lines = (await readFile(path, "utf8"))
    .trimEnd()
    .split("\n")
    .filter((line) => line !== endOfRecord && !values.has(line.split("=", 1)[0]!.trim()));
  const added = [...values].map(([key, value]) => `${key} = ${value}`);
  const text = `${[...lines, ...added, endOfRecord].join("\n")}\n`;
  // The temporary file is in another directory: iscsiadm reads all files next to the record.
  const tempPath = join(dir, `.kubelet-${randomBytes(8).toString("hex")}`);
  try {
    await replaceDurably(path, text, 0o600, tempPath);
  } catch (error) {
    await rm(tempPath, { force: true }).catch(() => {});
    if (!elsewhere.has(errnoOf(error) ?? "")) throw error;
    await chmod(path, 0o600);
    await writeFile(path, text);
  }
}

/** "192.0.2.1,3260": an IPv6 address without brackets. */
function portalPrefix(portal: string): string {
  const at = portal.lastIndexOf(":");
  return `${portal.slice(0, at).replace(/^\[(.*)\]$/, "$1")},${portal.slice(at + 1)}`;
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return [];
    throw error;
  });
}
