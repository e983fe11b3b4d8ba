// Measures the kubelet, the runtime without a kubelet, and other kubelets, in alternating rounds.
import { accessSync, constants, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { launcherFile } from "../e2e/built.ts";
import { containerdVersions } from "../node/test-node.ts";
import { BenchCluster } from "./bench-cluster.ts";
import { type KubeletProgram, kubeletProgram } from "./bench-kubelet.ts";
import { chart } from "./chart.ts";
import { type Column, type Measured, rowsOf } from "./figures.ts";
import { measureKubelet, remove, start } from "./kubelet-figures.ts";
import { captionOf, environmentOf } from "./machine.ts";
import { type OptionTable, type OptionValues, UsageError } from "./options.ts";
import { type RecordedPod, recordPod } from "./recorded-pod.ts";
import { measureFloor, type Sizes } from "./runtime-floor.ts";
import { overTarget, table } from "./table.ts";

export const summary = "all figures, compared with the runtime alone and with other kubelets";
export const options = {
  pods: { kind: "count", default: 60, most: 250, help: "pods of the burst; targets are for 60" },
  rounds: { kind: "count", default: 3, help: "how many times each is measured, alternating" },
  seconds: { kind: "count", default: 60, help: "length of the windows of idle and steady CPU" },
  samples: { kind: "count", default: 5, help: "pods created, deleted and killed one by one in each round" },
  quick: { kind: "flag", help: "one round with windows of 10 s and 2 samples, unless set" },
  reference: { kind: "paths", help: "another kubelet to measure in the same run; may be repeated" },
  kubeconfig: { kind: "path", help: "a real API server instead of the embedded one, as administrator" },
  json: { kind: "path", help: "write all values, with machine and versions" },
  svg: { kind: "path", help: "write a bar chart" },
  check: { kind: "flag", help: "exit with 1 if a median of kubelet-ts is over its target" },
} as const satisfies OptionTable;

export const quickDefaults = ["--rounds", "1", "--seconds", "10", "--samples", "2"];

const floorName = "runtime";

export async function run(o: OptionValues<typeof options>): Promise<boolean> {
  const programs = programsOf(o.reference);
  for (const file of [o.json, o.svg]) if (file !== undefined) needsDirectory(file);
  if (o.kubeconfig !== undefined) needsFile(o.kubeconfig);
  const containerd = containerdVersions().find(({ name }) => name === "2.x")!.available;
  if (containerd !== true) throw new UsageError(`containerd 2.x: ${containerd}`);
  const cluster = await BenchCluster.start({
    containerd: "2.x",
    pods: o.pods,
    kubeconfig: o.kubeconfig && resolve(o.kubeconfig),
  });
  try {
    const environment = await environmentOf(cluster, programs);
    const recorded = await warmUp(cluster, programs);
    const sizes: Sizes = { pods: o.pods, samples: o.samples, windowSeconds: o.seconds };
    const columns = await measure(cluster, programs, recorded, sizes, o.rounds);
    const rows = rowsOf(columns, o.pods);
    const caption = captionOf(environment, o.pods, o.rounds);
    const over = overTarget(rows, columns);
    console.log(["", caption, "", table(rows, columns), ...over].join("\n"));
    const { pods, rounds, seconds, samples } = o;
    const report = { ...environment, options: { pods, rounds, seconds, samples }, columns, rows };
    if (o.json !== undefined) writeFileSync(o.json, `${JSON.stringify(report, null, 1)}\n`);
    if (o.svg !== undefined) writeFileSync(o.svg, chart(rows, columns, caption));
    return !o.check || !over.some((line) => line.includes(`, ${programs[0]!.name}:`));
  } finally {
    await cluster.destroy();
  }
}

function programsOf(references: readonly string[]): KubeletProgram[] {
  const others = references.map((path, i) =>
    kubeletProgram(references.length === 1 ? "reference" : `reference ${i + 1}`, resolve(path)),
  );
  return [kubeletProgram("kubelet-ts", launcherFile), ...others];
}

/** The first start of each kubelet takes longer. One pod of ours is what the runtime then runs without a kubelet. */
async function warmUp(cluster: BenchCluster, programs: readonly KubeletProgram[]): Promise<RecordedPod> {
  let recorded: RecordedPod | undefined;
  for (const program of programs) {
    const { kubelet } = await start(cluster, program);
    await cluster.createPod("warm-up");
    await cluster.watch.ready(["warm-up"]);
    const [container] = await cluster.running();
    recorded ??= await recordPod(cluster.node.endpoint, container!.podSandboxId, container!.id);
    await remove(cluster, ["warm-up"]);
    await cluster.waitUntilEmpty();
    await kubelet.stop();
  }
  return recorded!;
}

async function measure(
  cluster: BenchCluster,
  programs: readonly KubeletProgram[],
  recorded: RecordedPod,
  sizes: Sizes,
  rounds: number,
): Promise<Column[]> {
  const turns = new Map<string, Measured[]>(
    [floorName, ...programs.map(({ name }) => name)].map((n) => [n, []]),
  );
  for (let round = 0; round < rounds; round++) {
    const turn = async (name: string, measured: () => Promise<Measured>) => {
      console.log(`round ${round + 1} of ${rounds}, ${sizes.pods} pods: ${name}`);
      turns.get(name)!.push(await measured());
    };
    await turn(floorName, () => measureFloor(cluster, recorded, sizes));
    // The order of the kubelets alternates, to balance effects of one on the next.
    for (const program of round % 2 ? programs.toReversed() : programs)
      await turn(program.name, () => measureKubelet(cluster, program, sizes));
  }
  return [...turns].map(([name, measured]) => ({ name, isFloor: name === floorName, turns: measured }));
}

function needsDirectory(file: string): void {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK);
  } catch {
    throw new UsageError(`${file}: its directory does not exist or is not writable`);
  }
}

function needsFile(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch {
    throw new UsageError(`${file} does not exist or is not readable`);
  }
}
