// Starts many pods concurrently, each with a Secret, a ConfigMap and a token, compared with as many without.
import { launcherFile } from "../e2e/built.ts";
import { podsPath } from "./bench-api.ts";
import { BenchCluster } from "./bench-cluster.ts";
import { kubeletProgram, type RunningKubelet } from "./bench-kubelet.ts";
import { remove, start } from "./kubelet-figures.ts";
import type { OptionTable, OptionValues } from "./options.ts";
import { cpuMs } from "./process-stats.ts";
import { checkRatio, median, ms, preciseNow } from "./statistics.ts";

const limit = 1.2;

export const summary = "pods with a Secret, a ConfigMap and a token, compared with pods without";
export const options = {
  pods: { kind: "count", default: 60, most: 250, help: "pods of each burst" },
  rounds: { kind: "count", default: 4, help: "how many times each kind is measured, alternating" },
  containerd: { kind: "choice", default: "2.x", values: ["1.6", "2.x"], help: "version of containerd" },
} as const satisfies OptionTable;

type Kind = "with" | "without";
interface Burst {
  /** The times at which pods became Ready, relative to the start of the burst. */
  readonly times: readonly number[];
  /** The CPU time of the kubelet. */
  readonly cpu: number;
}

function specOf(kind: Kind, name: string, image: string): object {
  if (kind === "without") return {};
  const volumeMounts = [
    { name: "secret", mountPath: "/secret" },
    { name: "settings", mountPath: "/settings" },
  ];
  const volumes = [
    { name: "secret", secret: { secretName: name } },
    { name: "settings", configMap: { name } },
  ];
  const containers = [{ name: "c", image, imagePullPolicy: "Never", volumeMounts }];
  return { automountServiceAccountToken: true, volumes, containers };
}

async function createObjects({ api }: BenchCluster, names: readonly string[]): Promise<void> {
  const post = (resource: string, kind: string, name: string, more: object) =>
    api.admin.request({
      method: "POST",
      path: podsPath.replace(/pods$/, resource),
      body: { apiVersion: "v1", kind, metadata: { name }, ...more },
    });
  for (const name of names) {
    await post("secrets", "Secret", name, { stringData: { user: name, password: "not so secret" } });
    await post("configmaps", "ConfigMap", name, { data: { "settings.yaml": `name: ${name}\n`.repeat(20) } });
  }
}

async function burst(
  cluster: BenchCluster,
  kubelet: RunningKubelet,
  names: readonly string[],
  kind: Kind,
): Promise<Burst> {
  const cpuBefore = cpuMs(kubelet.pid);
  const startedAt = preciseNow();
  await Promise.all(
    names.map((name) => cluster.createPod(name, specOf(kind, name, cluster.node.images.pause))),
  );
  const times = (await cluster.watch.ready(names)).map((readyAt) => readyAt - startedAt);
  const cpu = cpuMs(kubelet.pid) - cpuBefore;
  await remove(cluster, names);
  return { times, cpu };
}

function report(kind: Kind, { times, cpu }: Burst): void {
  const reported = `first ${ms(Math.min(...times))}, median ${ms(median(times))}, last ${ms(Math.max(...times))}`;
  console.log(`  ${kind} volumes: ${reported}; kubelet ${ms(cpu)} of CPU`);
}

export async function run({ pods, rounds, containerd }: OptionValues<typeof options>): Promise<boolean> {
  const names = Array.from({ length: pods }, (_, i) => `burst-${i}`);
  const cluster = await BenchCluster.start({ containerd: containerd as "1.6" | "2.x", pods });
  try {
    await createObjects(cluster, names);
    const { kubelet } = await start(cluster, kubeletProgram("kubelet-ts", launcherFile));
    const bursts: Record<Kind, Burst[]> = { with: [], without: [] };
    // Warm-up: the first pods of each kind take longer.
    for (const kind of ["without", "with"] as const) report(kind, await burst(cluster, kubelet, names, kind));
    for (let round = 1; round <= rounds; round++) {
      console.log(`round ${round} of ${rounds}, ${pods} pods`);
      // The order alternates, to balance effects of the first on the second.
      for (const kind of round % 2 ? (["without", "with"] as const) : (["with", "without"] as const)) {
        const one = await burst(cluster, kubelet, names, kind);
        bursts[kind].push(one);
        report(kind, one);
      }
    }
    const of = (kind: Kind, figure: (one: Burst) => number) => median(bursts[kind].map(figure));
    const compare = (what: string, figure: (one: Burst) => number) =>
      checkRatio(what, of("with", figure), of("without", figure), limit);
    const results = [
      compare("last of the burst", ({ times }) => Math.max(...times)),
      compare("median of the burst", ({ times }) => median(times)),
    ];
    return !results.includes(false);
  } finally {
    await cluster.destroy();
  }
}
