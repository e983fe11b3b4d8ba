import { readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";
import { errnoOf } from "../base/errors.ts";

/** The file in which systemd-resolved lists the servers that its stub on 127.0.0.53 forwards to. */
export const resolvedServersFile = "/run/systemd/resolve/resolv.conf";

type ReadFile = (path: string) => Promise<string>;
const readText: ReadFile = (path) => readFile(path, "utf8");

/** True if a pod with a network of its own can reach none of the nameservers, because all are on the loopback network of the node. */
export async function hasLoopbackServersOnly(path: string, read = readText): Promise<boolean> {
  const servers = [...((await textOf(path, read)) ?? "").matchAll(/^[ \t]*nameserver[ \t]+(\S+)/gm)].map(
    ([, server = ""]) => server,
  );
  return servers.length > 0 && servers.every((ip) => (isIPv4(ip) ? ip.startsWith("127.") : ip === "::1"));
}

/** A resolv.conf that works in pods: the file itself, the file of systemd-resolved, or "" if the file does not exist. */
export async function reachableResolvConf(path: string, read = readText): Promise<string> {
  if ((await textOf(path, read)) === undefined) return "";
  if (!(await hasLoopbackServersOnly(path, read))) return path;
  const hasServers = (await textOf(resolvedServersFile, read))?.includes("nameserver");
  return hasServers && !(await hasLoopbackServersOnly(resolvedServersFile, read))
    ? resolvedServersFile
    : path;
}

/** Undefined if there is no such file. */
function textOf(path: string, read: ReadFile): Promise<string | undefined> {
  return read(path).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  });
}
