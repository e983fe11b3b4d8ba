// Runs on an isolated host: the files of a host with SELinux and of its policy for containers, on a kernel without it.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Pod } from "../../src/lib/model/pod.ts";
import { CsiTestNode } from "../csi/csi-test-node.ts";
import { waitFor } from "../e2e/wait-for.ts";

export interface SELinuxReport {
  /** Mount options of each call to the driver: "NodeStageVolume context=…". */
  readonly calls: readonly string[];
  /** The labels in vol_data.json of the first pod's volume, of its directory and of the device. */
  readonly recorded: readonly string[];
  /** The mounts of the first pod's container that the runtime is to relabel. */
  readonly relabeled: Readonly<Record<string, boolean>>;
  /** The event of the second pod while the first one runs. */
  readonly conflict: string;
  readonly metrics: readonly string[];
}

const driverName = "disk.example.com";

function addSELinux(): void {
  const run = (...args: string[]) => execFileSync(args[0]!, args.slice(1));
  mkdirSync("/run/cgroups");
  run("mount", "--rbind", "/sys/fs/cgroup", "/run/cgroups");
  run("mount", "-t", "tmpfs", "fs", "/sys/fs");
  for (const name of ["cgroup", "selinux"]) mkdirSync(`/sys/fs/${name}`);
  run("mount", "--rbind", "/run/cgroups", "/sys/fs/cgroup");
  writeFileSync("/sys/fs/selinux/enforce", "1");
  run("cp", "-a", "/etc", "/run/etc");
  run("mount", "--bind", "/run/etc", "/etc");
  mkdirSync("/etc/selinux/targeted/contexts", { recursive: true });
  writeFileSync("/etc/selinux/config", "SELINUX=enforcing\nSELINUXTYPE=targeted\n");
  writeFileSync(
    "/etc/selinux/targeted/contexts/lxc_contexts",
    'process = "system_u:system_r:container_t:s0"\nfile = "system_u:object_r:container_file_t:s0"\n',
  );
}

async function main(): Promise<SELinuxReport> {
  addSELinux();
  const testNode = await CsiTestNode.start("2.x", { featureGates: JSON.parse(process.argv[2] ?? "{}") });
  const driver = await testNode.driver(driverName, { seLinuxMount: true });
  await driver.start();
  await testNode.claim(driverName, "shared", { accessModes: ["ReadWriteMany"] });
  const pod = (name: string, level: string): Promise<Pod> =>
    testNode.pod(
      name,
      { persistentVolumeClaim: { claimName: "shared" } },
      {
        container: {
          volumeMounts: [
            { name: "data", mountPath: "/data" },
            { name: "scratch", mountPath: "/scratch" },
          ],
        },
        spec: {
          securityContext: { seLinuxOptions: { level } },
          volumes: [
            { name: "data", persistentVolumeClaim: { claimName: "shared" } },
            { name: "scratch", emptyDir: {} },
          ],
        },
      },
    );
  const first = await pod("first", "s0:c1,c2");
  await testNode.apiNode.runs("first");
  const volumeDir = join(testNode.rootDir, "pods", first.metadata.uid, "volumes/kubernetes.io~csi/pv-shared");
  const staged = testNode.mounts().find(({ path }) => path.endsWith("/globalmount"))!.path;
  const recorded = [volumeDir, dirname(join(testNode.rootDir, staged))].map(
    (dir) => JSON.parse(readFileSync(join(dir, "vol_data.json"), "utf8")).seLinuxMountContext as string,
  );
  const { runtime } = testNode.apiNode;
  const [container] = await testNode.apiNode.containersOf("first");
  const { status } = await runtime.containerStatus(container!.id);
  const relabeled = Object.fromEntries(
    (status?.mounts ?? []).map(({ containerPath, selinuxRelabel }) => [containerPath, selinuxRelabel]),
  );
  // The new agent finds the label on disk, and leaves the volume alone.
  await testNode.restartAgent();
  await pod("second", "s0:c3,c4");
  const conflict = await waitFor(async () => {
    const event = (await testNode.events("second")).find((text) => text.includes("SELinux"));
    if (!event) throw new Error("no event yet");
    return event;
  });
  await testNode.apiNode.deletePod("first");
  await testNode.apiNode.runs("second");
  const metrics = (await testNode.request("/metrics"))
    .split("\n")
    .filter((line) => /^volume_manager_selinux/.test(line));
  const calls: string[] = [];
  for (const { method, request } of await driver.calls()) {
    if (!/^Node(Uns|S)tageVolume$|^Node(Unp|P)ublishVolume$/.test(method)) continue;
    const { volumeCapability } = request as { volumeCapability?: { mount?: { mountFlags?: string[] } } };
    calls.push([method, ...(volumeCapability?.mount?.mountFlags ?? [])].join(" "));
  }
  await testNode.destroy();
  return { calls, recorded, relabeled, conflict, metrics };
}

if (import.meta.main) process.stdout.write(JSON.stringify(await main()));
