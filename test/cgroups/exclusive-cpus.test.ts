import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { cgroupFilesystem, detectLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import { writeFakeSysfs } from "../../src/lib/host/fake-sysfs.ts";
import { fakePod } from "../../src/lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../src/lib/model/pod.ts";
import { get } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { CgroupNode } from "./cgroup-node.ts";

const kernel = cgroupFilesystem(await detectLayout());
const skip = process.getuid?.() === 0 ? false : "only root can create cgroups";
/** The least that a kubelet reserves: one CPU of this machine has to remain. */
const reserved = { cpuManagerPolicy: "static", systemReserved: { cpu: "100m" } } as const;

function pod(name: string, cpu: string): Pod {
  const amounts = { cpu, memory: "16Mi" };
  return fakePod({
    metadata: { name, uid: `e0e0e0e0-0000-4000-8000-00000000000${name.length}` as PodUid },
    spec: { containers: [{ name: "c", resources: { requests: amounts, limits: amounts } }] },
  });
}

describe("exclusive CPUs of a machine with 4 cores and SMT", { skip }, () => {
  const sysDir = mkdtempSync(join(tmpdir(), "sysfs-"));
  const roots: string[] = [];

  before(() => {
    const cpus = Array.from({ length: 8 }, (_, id) => ({ core: id % 4, socket: 0, node: 0 }));
    writeFakeSysfs(sysDir, "0-7", { ...cpus });
  });

  after(async () => {
    rmSync(sysDir, { recursive: true });
    for (const root of roots) await kernel.remove(root);
  });

  const start = async (config: object) => {
    const cgroupRoot = `/kubelet-ts-cpus-${process.pid}-${roots.length}`;
    roots.push(cgroupRoot);
    return CgroupNode.start({ driver: "cgroupfs", cgroupRoot, sysDir, config });
  };

  const explanation = async (node: CgroupNode, name: string) => {
    const response = await get({
      socketPath: join(node.dir, "root/kubelet.sock"),
      path: `/explain?pod=${name}`,
    });
    assert.equal(response?.status, 200);
    return JSON.parse(response.body).pods[0] as { phase: string; cause: string };
  };

  // parity: field cpuManagerPolicyOptions, field cpuManagerPolicy
  it("a pod that does not request whole physical cores is rejected, and the explanation names the CPUs", async () => {
    const node = await start({ ...reserved, cpuManagerPolicyOptions: { "full-pcpus-only": "true" } });
    try {
      node.run([pod("odd", "1")]);
      const { phase, cause } = await waitFor(async () => {
        const found = await explanation(node, "odd");
        assert.equal(found.phase, "Failed");
        return found;
      });
      assert.equal(phase, "Failed");
      assert.equal(
        cause,
        "SMTAlignmentError: Pod was rejected: SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2: container c requests 1 exclusive CPUs; free: 1-7; exclusive to other containers: none; reserved: 0",
      );
      const state = JSON.parse(readFileSync(join(node.dir, "root/cpu_manager_state"), "utf8"));
      assert.deepEqual([state.policyName, state.defaultCpuSet, state.entries], ["static", "0-7", undefined]);
    } finally {
      await node.stop();
    }
  });

  for (const [rule, config, expected] of [
    [
      "the options must be known",
      { cpuManagerPolicyOptions: { fast: "true" } },
      /unknown CPU Manager Policy option: "fast"/,
    ],
    [
      "an alpha option needs its gate",
      { cpuManagerPolicyOptions: { "align-by-socket": "true" } },
      /CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided/,
    ],
    [
      "the none policy has no options",
      { cpuManagerPolicy: "none", cpuManagerPolicyOptions: { "full-pcpus-only": "true" } },
      /new none policy error: None policy: received unsupported options=map\[full-pcpus-only:true\]/,
    ],
    [
      "CPUs must be reserved",
      { systemReserved: {} },
      /the static policy requires systemreserved.cpu \+ kubereserved.cpu/,
    ],
    [
      "reserved CPUs must exist",
      { reservedSystemCPUs: "9" },
      /reserved-cpus: 9 is not a subset of online-cpus: 0-7/,
    ],
  ] as const)
    it(`the kubelet does not start otherwise: ${rule}`, async () => {
      await assert.rejects(start({ ...reserved, ...config }), expected);
    });
});
