// Starts pods whose images are not on the node, compared with other kubelets.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { buildImage, type OciImage } from "../../src/single-node/oci-image.ts";
import { findProgram } from "../../src/single-node/requirements.ts";
import { launcherFile } from "../e2e/built.ts";
import { Registry, registryUnavailable } from "../e2e/registry.ts";
import { BenchCluster } from "./bench-cluster.ts";
import { type KubeletProgram, kubeletProgram } from "./bench-kubelet.ts";
import { remove, start } from "./kubelet-figures.ts";
import { type OptionTable, type OptionValues, UsageError } from "./options.ts";
import { checkRatio, median, ms, preciseNow } from "./statistics.ts";
import { throttle } from "./throttle.ts";

const MB = 1_000_000;
const limit = 0.65;
/** The runtime keeps the content of removed images for a while: each turn has its own images. */
let turns = 0;

export const summary = "pods with an init container, whose images have to be pulled";
export const options = {
  rounds: { kind: "count", default: 3, help: "how many times each kubelet is measured, alternating" },
  rate: { kind: "count", default: 20, help: "MB per second that the registry sends" },
  init: { kind: "count", default: 20, help: "MB of the image of the init container" },
  main: { kind: "count", default: 60, help: "MB of the image of the container" },
  seconds: { kind: "count", default: 2, help: "seconds that the init container runs" },
  reference: { kind: "paths", help: "another kubelet to measure in the same run; may be repeated" },
} as const satisfies OptionTable;

type Values = OptionValues<typeof options>;

export async function run(o: Values): Promise<boolean> {
  if (registryUnavailable) throw new UsageError(registryUnavailable);
  const others = o.reference.map((path) => kubeletProgram("reference", resolve(path)));
  const programs = [kubeletProgram("kubelet-ts", launcherFile), ...others];
  const cluster = await BenchCluster.start({ containerd: "2.x", pods: 1 });
  const registry = await Registry.start();
  registry.transform = throttle(o.rate * MB);
  try {
    registry.configure(cluster.node);
    const times = new Map<KubeletProgram, number[]>(programs.map((program) => [program, []]));
    for (let round = 0; round < o.rounds; round++)
      // The order alternates, to balance effects of one on the next.
      for (const program of round % 2 ? programs.toReversed() : programs) {
        const took = await turn(cluster, registry, program, o);
        times.get(program)!.push(took);
        console.log(`round ${round + 1} of ${o.rounds}, ${program.name}: ${ms(took)}`);
      }
    const network = ((o.init + o.main) / o.rate) * 1000;
    const initial = (o.init / o.rate + o.seconds) * 1000;
    console.log(`network ${ms(network)}; image and run of the init container ${ms(initial)}`);
    const [ours = [], ...theirs] = times.values();
    console.log(`kubelet-ts: median ${ms(median(ours))}`);
    const results = theirs.map((of) => checkRatio("create to Ready", median(ours), median(of), limit));
    return !results.includes(false);
  } finally {
    await registry.stop();
    await cluster.destroy();
  }
}

/** The time from the create request until the pod is Ready. */
async function turn(
  cluster: BenchCluster,
  registry: Registry,
  program: KubeletProgram,
  { init, main, seconds }: Values,
): Promise<number> {
  const tag = String(++turns);
  await registry.push(imageOf(init * MB), "init", tag);
  await registry.push(imageOf(main * MB), "main", tag);
  const { kubelet } = await start(cluster, program);
  const container = (name: string, forSeconds: number) => {
    return { name, image: registry.nameOf(name, tag), command: ["/busybox", "sleep", String(forSeconds)] };
  };
  const startedAt = preciseNow();
  await cluster.createPod("cold", {
    initContainers: [container("init", seconds)],
    containers: [container("main", 1_000_000)],
  });
  const [readyAt] = await cluster.watch.ready(["cold"]);
  await remove(cluster, ["cold"]);
  await cluster.waitUntilEmpty();
  await kubelet.stop();
  return readyAt! - startedAt;
}

/** An image of this size, which does not compress. */
function imageOf(bytes: number): OciImage {
  const busybox = readFileSync(findProgram("busybox")!);
  return buildImage({
    names: ["localhost/cold:1"],
    layers: [
      [{ type: "file", name: "busybox", mode: 0o755, data: busybox }],
      [{ type: "file", name: "content", data: randomBytes(Math.max(1, bytes - busybox.length)) }],
    ],
    config: {},
  });
}
