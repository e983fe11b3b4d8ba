import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { isolationUnavailable, startIsolated } from "./isolated-host.ts";
import { containerdVersions } from "./test-node.ts";

const containerd = containerdVersions().find(({ name }) => name === "2.x")!.available;
/** The reason why no node with containerd 2.x can run on an isolated host here. */
export const unavailable: string | false = isolationUnavailable || (containerd === true ? false : containerd);

/** Runs a script on an isolated host; returns the JSON object that it prints. */
export async function isolatedReport<T>(script: URL, args: readonly string[] = []): Promise<T> {
  const host = startIsolated([process.execPath, fileURLToPath(script), ...args]);
  const [out, err] = await Promise.all([text(host.child.stdout!), text(host.child.stderr!), host.exited]);
  if (!out.startsWith("{")) throw new Error(`no report: ${err}`);
  return JSON.parse(out) as T;
}
