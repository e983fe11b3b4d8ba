// Runs in a user namespace: its root has no rights over the machine. Starts the kubelet without the gate, then with it.
import { readFileSync, writeFileSync } from "node:fs";
import { addAddresses, OddNode } from "./odd-node.ts";

export interface RootlessReport {
  readonly uidMap: string;
  /** A kernel setting has another value than the kubelet needs, and cannot be written. */
  readonly deniedSetting: boolean;
  readonly withoutGate: { readonly exitCode: number | null; readonly log: string };
  readonly phase: string | undefined;
  readonly restarts: number | undefined;
}

const overcommit = "/proc/sys/vm/overcommit_memory";

function isDenied(): boolean {
  if (readFileSync(overcommit, "utf8").trim() === "1") return false;
  try {
    writeFileSync(overcommit, "1");
    return false;
  } catch {
    return true;
  }
}

async function main(): Promise<RootlessReport> {
  addAddresses("192.0.2.10/24");
  const odd = await OddNode.create();
  odd.placeManifest("web");
  const deniedSetting = isDenied();
  const flags = ["--node-ip=192.0.2.10", "--keep-kernel-tunables=false"];
  let exitCode: number | null = null;
  if (deniedSetting) {
    odd.startAgent(flags);
    exitCode = await odd.agent.exited();
  }
  const withoutGate = { exitCode, log: deniedSetting ? odd.agent.log() : "" };
  odd.startAgent([...flags, "--feature-gates=KubeletInUserNamespace=true"]);
  const { status } = await odd.runs("web");
  const report = {
    uidMap: readFileSync("/proc/self/uid_map", "utf8").trim(),
    deniedSetting,
    withoutGate,
    phase: status?.phase,
    restarts: status?.containerStatuses?.[0]?.restartCount,
  };
  await odd.destroy();
  return report;
}

if (import.meta.main) process.stdout.write(JSON.stringify(await main()));
