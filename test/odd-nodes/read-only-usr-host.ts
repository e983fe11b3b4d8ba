// Runs on an isolated host: /usr is read-only, as on image-based distributions.
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { addAddresses, type NodeObject, OddNode } from "./odd-node.ts";

/** The default of volumePluginDir. */
const pluginDir = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec";

export interface ReadOnlyReport {
  readonly node: NodeObject;
  /** The error of a write to /usr. */
  readonly written: string;
  readonly hasPluginDir: boolean;
  readonly log: string;
}

function errorOfWrite(): string {
  try {
    writeFileSync("/usr/.kubelet-ts", "");
    return "";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  }
}

async function main(): Promise<ReadOnlyReport> {
  addAddresses("192.0.2.10/24");
  execFileSync("mount", ["--bind", "/usr", "/usr"]);
  execFileSync("mount", ["-o", "remount,bind,ro", "/usr"]);
  // Another kubelet of this machine may have created the directory.
  execFileSync("mount", ["-t", "tmpfs", "-o", "ro", "none", "/usr/libexec"]);
  const odd = await OddNode.create({ makeIPTablesUtilChains: true, volumePluginDir: pluginDir });
  odd.placeManifest("web");
  odd.startAgent(["--node-ip=192.0.2.10"]);
  await odd.runs("web");
  const report = {
    node: await odd.nodeObject(),
    written: errorOfWrite(),
    hasPluginDir: existsSync(pluginDir),
    log: odd.agent.log(),
  };
  await odd.destroy();
  return report;
}

if (import.meta.main) process.stdout.write(JSON.stringify(await main()));
