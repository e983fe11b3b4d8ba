import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { formatCpuSet, noCpus, parseCpuSet } from "../../../lib/model/cpu-set.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import { isSidecar } from "../../../lib/model/resources.ts";
import { admit, cpuManager, guaranteedPod } from "./cpu-fixtures.ts";
import type { CpuManager } from "./cpu-manager.ts";
import { machine } from "./machine-fixtures.ts";

type Step =
  | { readonly kind: "admit"; readonly cpus: readonly string[]; readonly init: readonly string[] }
  | { readonly kind: "release"; readonly which: number }
  | { readonly kind: "restart" }
  /** The agent is killed while a pod is being admitted, after this many turns of the event loop. */
  | { readonly kind: "kill"; readonly cpus: readonly string[]; readonly turns: number };

const amount = fc.constantFrom("1", "2", "2", "3", "4", "500m", "8");
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("admit" as const),
      cpus: fc.array(amount, { minLength: 1, maxLength: 3 }),
      init: fc.array(
        fc.oneof(
          amount,
          amount.map((a) => `${a} sidecar`),
        ),
        { maxLength: 2 },
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("release" as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("kill" as const),
      cpus: fc.array(amount, { minLength: 1, maxLength: 3 }),
      turns: fc.nat(12),
    }),
  },
);

const setup = fc.record({
  machine: fc.constantFrom("core-4", "vm-2", "xeon-2x28-snc", "epyc-24", "qemu-8", "epyc-32-4"),
  reserved: fc.constantFrom("0", "0-1"),
  options: fc.constantFrom<string[]>(
    [],
    ["strict-cpu-reservation"],
    ["full-pcpus-only"],
    ["distribute-cpus-across-numa"],
    ["distribute-cpus-across-numa", "full-pcpus-only", "strict-cpu-reservation"],
    ["prefer-align-cpus-by-uncorecache"],
    ["distribute-cpus-across-cores"],
  ),
});

const containersOf = ({ spec }: Pod): Container[] => [...(spec.initContainers ?? []), ...spec.containers];

/** The CPUs that run at the same time as the containers: sidecars and containers. */
const longRunning = (pod: Pod) =>
  containersOf(pod).filter((c) => isSidecar(c) || pod.spec.containers.includes(c));

test("no CPU is assigned twice, leaked or changed, whatever pods come and go and whenever the agent is killed", async () => {
  await fc.assert(
    fc.asyncProperty(setup, fc.array(step, { maxLength: 14 }), async (o, steps) => {
      const dir = mkdtempSync(join(tmpdir(), "cpu-property-"));
      try {
        await run(dir, o, steps);
      } finally {
        rmSync(dir, { recursive: true });
      }
    }),
    { numRuns: 40 },
  );
});

async function run(
  dir: string,
  o: { machine: string; reserved: string; options: readonly string[] },
  steps: readonly Step[],
): Promise<void> {
  let at = dir;
  const start = async () => {
    const manager = cpuManager(at, o);
    await manager.start();
    return manager;
  };
  let manager = await start();
  let admitted: { pod: Pod; cpus: string }[] = [];
  const add = async (pod: Pod) => {
    const isAdmitted = await admit(manager, pod).then(
      () => true,
      () => false,
    );
    if (isAdmitted) admitted.push({ pod, cpus: assigned(manager, pod) });
    else assert.doesNotMatch(assigned(manager, pod), /\d=\d/);
  };
  for (const [index, s] of steps.entries()) {
    if (s.kind === "admit") await add(guaranteedPod(`pod${index}`, s.cpus, s.init));
    else if (s.kind === "release") {
      const [gone] = admitted.splice(s.which % Math.max(1, admitted.length), 1);
      if (gone) manager.release(gone.pod.metadata.uid);
    } else {
      const pod = guaranteedPod(`pod${index}`, s.kind === "kill" ? s.cpus : ["500m"]);
      const interrupted = admit(manager, pod).catch(() => {});
      if (s.kind === "kill")
        for (let i = 0; i < s.turns; i++) await new Promise((done) => setImmediate(done));
      else await interrupted;
      // The file at this moment is all that the next agent has.
      const nextDir = join(dir, `after-${index}`);
      mkdirSync(nextDir);
      copyFileSync(join(at, "cpu_manager_state"), join(nextDir, "cpu_manager_state"));
      await interrupted;
      at = nextDir;
      manager = await start();
      const known = new Set(admitted.map(({ pod: p }) => p.metadata.uid));
      manager.keepOnly((uid) => known.has(uid) || uid === pod.metadata.uid);
      // A new agent admits all pods again.
      for (const { pod: p } of admitted) await admit(manager, p);
      await add(pod);
    }
    check(manager, o, admitted);
  }
  for (const { pod } of admitted) manager.release(pod.metadata.uid);
  admitted = [];
  check(manager, o, admitted);
}

function assigned(manager: CpuManager, pod: Pod): string {
  return containersOf(pod)
    .map(({ name }) => `${name}=${formatCpuSet(manager.exclusiveCpusOf(pod.metadata.uid, name))}`)
    .join(" ");
}

function check(
  manager: CpuManager,
  o: { machine: string; reserved: string; options: readonly string[] },
  admitted: readonly { pod: Pod; cpus: string }[],
): void {
  const reserved = parseCpuSet(o.reserved);
  const isStrict = o.options.includes("strict-cpu-reservation");
  let used = noCpus;
  for (const { pod, cpus } of admitted) {
    const { uid } = pod.metadata;
    assert.equal(assigned(manager, pod), cpus, "a pod keeps its CPUs");
    const of = (c: Container) => manager.exclusiveCpusOf(uid, c.name);
    let ofPod = noCpus;
    for (const container of longRunning(pod)) {
      assert.ok(of(container).isDisjointFrom(ofPod), "containers that run at the same time share no CPU");
      ofPod = ofPod.union(of(container));
    }
    for (const container of containersOf(pod)) {
      const requested = Number(container.resources?.requests?.cpu);
      assert.equal(of(container).size, Number.isInteger(requested) ? requested : 0);
      ofPod = ofPod.union(of(container));
    }
    assert.ok(ofPod.isDisjointFrom(used), "pods share no CPU");
    used = used.union(ofPod);
  }
  assert.ok(used.isDisjointFrom(reserved), "reserved CPUs are exclusive to no container");
  const all = machine(o.machine).all.difference(isStrict ? reserved : noCpus);
  const shared = manager.cpusOf("another" as never, "app") ?? noCpus;
  assert.ok(shared.isDisjointFrom(used));
  assert.equal(formatCpuSet(shared.union(used)), formatCpuSet(all), "no CPU is lost");
}

test("a hint is honored: all CPUs come from its NUMA nodes", async () => {
  const o = fc.record({
    machine: fc.constantFrom("xeon-2x20", "xeon-2x28-snc", "epyc-32-4", "power9-2x20"),
    before: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
    count: fc.integer({ min: 1, max: 40 }),
    which: fc.nat(20),
  });
  await fc.assert(
    fc.asyncProperty(o, async ({ machine: name, before, count, which }) => {
      const dir = mkdtempSync(join(tmpdir(), "cpu-property-"));
      try {
        const manager = cpuManager(dir, { machine: name });
        await manager.start();
        for (const [index, cpus] of before.entries())
          await admit(manager, guaranteedPod(`p${index}`, [`${cpus}`]));
        const pod = guaranteedPod("pod", [`${count}`]);
        const [container] = pod.spec.containers;
        if (!container) return;
        const hints = manager.hints(pod, container).get("cpu") ?? [];
        const hint = hints[which % hints.length];
        if (!hint) return;
        await manager.allocate(pod, container, hint);
        const topology = machine(name);
        const nodes = topology.groupsOf(
          "numaNode",
          manager.exclusiveCpusOf(pod.metadata.uid, container.name),
        );
        for (const node of nodes) assert.ok((hint.numaNodes ?? 0n) & (1n << BigInt(node)));
      } finally {
        rmSync(dir, { recursive: true });
      }
    }),
    { numRuns: 20 },
  );
});
