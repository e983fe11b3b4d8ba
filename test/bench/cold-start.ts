// Starts pods whose images are not on the node, compared with other kubelets.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildImage, type OciImage } from "../../src/single-node/oci-image.ts";
import { findProgram } from "../../src/single-node/requirements.ts";
import { DriverProcess } from "../csi/driver-process.ts";
import { launcherFile } from "../e2e/built.ts";
import { Registry, registryUnavailable } from "../e2e/registry.ts";
import { BenchCluster } from "./bench-cluster.ts";
import { type KubeletProgram, kubeletProgram } from "./bench-kubelet.ts";
import { remove, start } from "./kubelet-figures.ts";
import { type OptionTable, type OptionValues, UsageError } from "./options.ts";
import { checkRatio, median, ms, percentile, preciseNow } from "./statistics.ts";
import { throttle } from "./throttle.ts";
import { until } from "./until.ts";

const MB = 1_000_000;
/** Compared with the other kubelet: one pod, and several at once. */
const [limitOfOne, limitOfMany] = [0.65, 0.7];
/** Compared with the longest chain of steps that depend on each other. */
const limitOfChain = 1.15;
/** A warm start while images are pulled, compared with one before. */
const limitOfWarm = 1.1;
const driverName = "slow.csi.example.com";
/** The runtime keeps the content of removed images for a while: each turn has its own images. */
let turns = 0;
let warmStarts = 0;

export const summary = "pods with an init container, whose images have to be pulled";
export const options = {
  rounds: { kind: "count", default: 3, help: "how many times each kubelet is measured, alternating" },
  rate: { kind: "count", default: 20, help: "MB per second that the registry sends" },
  init: { kind: "count", default: 20, help: "MB of the image of the init container" },
  main: { kind: "count", default: 60, help: "MB of the image of the container" },
  seconds: { kind: "count", default: 2, help: "seconds that the init container runs" },
  csi: { kind: "count", default: 0, least: 0, help: "seconds that a CSI driver takes to mount a volume" },
  pods: { kind: "count", default: 1, help: "how many such pods are created at once" },
  images: { kind: "count", default: 1, help: "how many different pairs of images they have" },
  warm: { kind: "count", default: 0, least: 0, help: "warm pods to start before, and during the pulls" },
  reference: { kind: "paths", help: "another kubelet to measure in the same run; may be repeated" },
} as const satisfies OptionTable;

type Values = OptionValues<typeof options>;

/** In milliseconds. */
interface Turn {
  /** From the create request until the last pod is Ready. */
  readonly cold: number;
  readonly warmBefore: readonly number[];
  readonly warmDuring: readonly number[];
}

export async function run(o: Values): Promise<boolean> {
  if (registryUnavailable) throw new UsageError(registryUnavailable);
  const others = o.reference.map((path) => kubeletProgram("reference", resolve(path)));
  const programs = [kubeletProgram("kubelet-ts", launcherFile), ...others];
  const cluster = await BenchCluster.start({ containerd: "2.x", pods: o.pods });
  const registry = await Registry.start();
  registry.transform = throttle(o.rate * MB);
  const driver = o.csi > 0 ? await startDriver(cluster, o.csi) : undefined;
  try {
    registry.configure(cluster.node);
    const measured = new Map<KubeletProgram, Turn[]>(programs.map((program) => [program, []]));
    for (let round = 0; round < o.rounds; round++)
      // The order alternates, to balance effects of one on the next.
      for (const program of round % 2 ? programs.toReversed() : programs) {
        const took = await turn(cluster, registry, program, o, driver);
        measured.get(program)!.push(took);
        console.log(`round ${round + 1} of ${o.rounds}, ${program.name}: ${ms(took.cold)}`);
      }
    return report(o, [...measured.values()]);
  } finally {
    await driver?.kill();
    await registry.stop();
    await cluster.destroy();
  }
}

function report(o: Values, [ours = [], ...theirs]: readonly Turn[][]): boolean {
  const network = ((o.images * (o.init + o.main)) / o.rate) * 1000;
  const initial = (Math.max(o.init / o.rate, o.csi) + o.seconds) * 1000;
  const chain = Math.max(network, initial);
  console.log(`network ${ms(network)}; volume or image, and run of the init container ${ms(initial)}`);
  const cold = (turns: readonly Turn[]) => median(turns.map((one) => one.cold));
  console.log(`kubelet-ts: median ${ms(cold(ours))}`);
  const results = [checkRatio("longest chain", cold(ours), chain, limitOfChain)];
  for (const of of theirs)
    results.push(checkRatio("create to Ready", cold(ours), cold(of), o.pods > 1 ? limitOfMany : limitOfOne));
  if (o.warm > 0) {
    const p95 = (pick: (one: Turn) => readonly number[]) => percentile(ours.flatMap(pick), 95);
    const [before, during] = [p95((one) => one.warmBefore), p95((one) => one.warmDuring)];
    results.push(checkRatio("p95 of warm starts during pulls", during, before, limitOfWarm));
  }
  return !results.includes(false);
}

/** One kubelet, from its start on an empty node to its stop. */
async function turn(
  cluster: BenchCluster,
  registry: Registry,
  program: KubeletProgram,
  { init, main, seconds, pods, images, warm }: Values,
  driver: DriverProcess | undefined,
): Promise<Turn> {
  const tags = Array.from({ length: images }, () => String(++turns));
  for (const tag of tags) {
    await registry.push(imageOf(init * MB), "init", tag);
    await registry.push(imageOf(main * MB), "main", tag);
  }
  const registrations = async () => (await driver?.calls("NotifyRegistrationStatus"))?.length;
  const registered = await registrations();
  const { kubelet } = await start(cluster, program);
  if (driver)
    await until("the driver is registered", async () => (await registrations())! > (registered ?? 0));
  const warmBefore = await startWarm(cluster, warm);
  const container = (name: string, index: number, forSeconds: number) => ({
    name,
    image: registry.nameOf(name, tags[index % images]!),
    command: ["/busybox", "sleep", String(forSeconds)],
    ...(driver && { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
  });
  const names = Array.from({ length: pods }, (_, index) => `cold-${index}`);
  const startedAt = preciseNow();
  await Promise.all(
    names.map((name, index) =>
      cluster.createPod(name, {
        ...(driver && { volumes: [{ name: "data", csi: { driver: driverName } }] }),
        initContainers: [container("init", index, seconds)],
        containers: [container("main", index, 1_000_000)],
      }),
    ),
  );
  const during = startWarm(cluster, warm);
  const readyAt = Math.max(...(await cluster.watch.ready(names)));
  const warmDuring = await during;
  await remove(cluster, names);
  await cluster.waitUntilEmpty();
  await kubelet.stop();
  return { cold: readyAt - startedAt, warmBefore, warmDuring };
}

/** Starts and removes pods whose image is present, one at a time; returns how long each took to become Ready. */
async function startWarm(cluster: BenchCluster, count: number): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < count; i++) {
    const name = `warm-${++warmStarts}`;
    const createdAt = preciseNow();
    await cluster.createPod(name);
    const [readyAt] = await cluster.watch.ready([name]);
    took.push(readyAt! - createdAt);
    await remove(cluster, [name]);
  }
  return took;
}

/** A driver of inline volumes whose mounts take this long. It outlives the kubelets. */
async function startDriver(cluster: BenchCluster, seconds: number): Promise<DriverProcess> {
  await cluster.api.admin.request({
    method: "POST",
    path: "/apis/storage.k8s.io/v1/csidrivers",
    body: {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name: driverName },
      spec: { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: ["Ephemeral"] },
    },
  });
  const { rootDir } = cluster.node;
  const driver = new DriverProcess({
    name: driverName,
    stateDir: join(rootDir, "..", "csi"),
    endpoint: join(rootDir, "plugins", driverName, "csi.sock"),
    registrationSocket: join(rootDir, "plugins_registry", `${driverName}-reg.sock`),
  });
  await driver.faults({ NodePublishVolume: { takesMs: seconds * 1000 } });
  await driver.start();
  return driver;
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
