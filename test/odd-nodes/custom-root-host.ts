// Runs on an isolated host: a kubelet with another root directory than /var/lib/kubelet, and the default directories otherwise.
import { lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { addAddresses, OddNode } from "./odd-node.ts";

/** By path: "type mode". */
export type Listing = Readonly<Record<string, string>>;

export interface CustomRootReport {
  readonly root: Listing;
  readonly standard: Listing;
  readonly etcHosts: string;
}

function listing(dir: string): Listing {
  const found: Record<string, string> = {};
  const add = (path: string) => {
    const at = lstatSync(join(dir, path));
    const type = at.isDirectory() ? "directory" : at.isSocket() ? "socket" : "file";
    found[path] = `${type} ${(at.mode & 0o777).toString(8)}`;
    if (at.isDirectory() && path !== "pods")
      for (const name of readdirSync(join(dir, path))) add(path === "." ? name : join(path, name));
  };
  add(".");
  return found;
}

async function main(): Promise<CustomRootReport> {
  addAddresses("192.0.2.10/24");
  const odd = await OddNode.create({ enableServer: true, port: 10250 });
  const root = "/var/log/custom/kubelet";
  mkdirSync("/var/log/custom");
  odd.placeManifest("web");
  const { KUBELET_TS_DEVICE_PLUGINS: _, ...env } = process.env;
  // The last of two flags counts.
  odd.startAgent([`--root-dir=${root}`, "--node-ip=192.0.2.10"], env);
  const pod = await odd.runs("web");
  const uid = pod.metadata.annotations?.["kubernetes.io/config.hash"] ?? "";
  const report = {
    root: listing(root),
    standard: listing("/var/lib/kubelet"),
    etcHosts: listing(join(root, "pods", uid))["etc-hosts"] ?? "",
  };
  await odd.destroy();
  return report;
}

if (import.meta.main) process.stdout.write(JSON.stringify(await main()));
