// Starts many API pods concurrently, each with a Secret, a ConfigMap and a token, compared with as many without. Exits with 1 if over the limit.
import { parseArgs } from "node:util";
import type { HttpKubeTransport } from "../../src/lib/clients/kube/transport.ts";
import { KillableApi } from "../cluster/killable-api.ts";
import type { ContainerdVersion } from "../node/test-node.ts";
import { BenchNode, until } from "./bench-node.ts";
import { checkRatio, median, ms, preciseNow } from "./statistics.ts";

const limit = 1.2;
const nodeName = "bench";
const inDefault = "/api/v1/namespaces/default";

const { values } = parseArgs({
  options: {
    pods: { type: "string", default: "60" },
    rounds: { type: "string", default: "4" },
    containerd: { type: "string", default: "2.x" },
  },
});
const pods = Number(values.pods);
const rounds = Number(values.rounds);

type Kind = "with" | "without";
interface Burst {
  /** The start times of the containers, relative to the start of the burst, in order. */
  readonly times: readonly number[];
  /** The CPU time of the kubelet. */
  readonly cpu: number;
}

const names = Array.from({ length: pods }, (_, i) => `burst-${i}`);

function podOf(kind: Kind, name: string, image: string): object {
  const mounts = [
    { name: "secret", mountPath: "/secret" },
    { name: "settings", mountPath: "/settings" },
  ];
  const volumes = [
    { name: "secret", secret: { secretName: name } },
    { name: "settings", configMap: { name } },
  ];
  const container = { name: "c", image, imagePullPolicy: "Never" };
  const common = { nodeName, terminationGracePeriodSeconds: 1, dnsPolicy: "Default" };
  const spec =
    kind === "with"
      ? { ...common, volumes, containers: [{ ...container, volumeMounts: mounts }] }
      : { ...common, automountServiceAccountToken: false, containers: [container] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

async function createObjects(admin: HttpKubeTransport): Promise<void> {
  const post = (resource: string, kind: string, name: string, more: object) =>
    admin.request({
      method: "POST",
      path: `${inDefault}/${resource}`,
      body: { apiVersion: "v1", kind, metadata: { name }, ...more },
    });
  for (const name of names) {
    await post("secrets", "Secret", name, { stringData: { user: name, password: "not so secret" } });
    await post("configmaps", "ConfigMap", name, { data: { "settings.yaml": `name: ${name}\n`.repeat(20) } });
  }
}

async function burst(bench: BenchNode, admin: HttpKubeTransport, kind: Kind): Promise<Burst> {
  const { pause } = bench.node.images;
  const path = `${inDefault}/pods`;
  const cpuBefore = bench.agentCpu();
  const startedAt = preciseNow();
  await Promise.all(
    names.map((name) => admin.request({ method: "POST", path, body: podOf(kind, name, pause) })),
  );
  const running = await bench.untilRunning(pods);
  const times: number[] = [];
  const cpu = bench.agentCpu() - cpuBefore;
  for (const { id } of running) times.push((await bench.startedAt(id)) - startedAt);
  await Promise.all(names.map((name) => admin.request({ method: "DELETE", path: `${path}/${name}` })));
  await until("no pod is left", async () => {
    const { items } = await admin.request<{ items: object[] }>({ method: "GET", path });
    return items.length === 0 && (await bench.cri.listPodSandboxes()).length === 0;
  });
  return { times: times.sort((a, b) => a - b), cpu };
}

function report(kind: Kind, { times, cpu }: Burst): void {
  const [first, last] = [times[0]!, times.at(-1)!];
  const reported = `first ${ms(first)}, median ${ms(median(times))}, last ${ms(last)}`;
  console.log(`  ${kind} volumes: ${reported}; kubelet ${ms(cpu)} of CPU`);
}

const bench = await BenchNode.start(values.containerd as ContainerdVersion);
const api = await KillableApi.create(nodeName);
try {
  api.start();
  const admin = await api.admin();
  await until("the default service account exists", async () =>
    admin.request({ method: "GET", path: `${inDefault}/serviceaccounts/default` }).then(
      () => true,
      () => false,
    ),
  );
  await createObjects(admin);
  await bench.startAgent([`--kubeconfig=${api.nodeKubeconfig}`, `--hostname-override=${nodeName}`]);
  const bursts: Record<Kind, Burst[]> = { with: [], without: [] };
  // Warm-up: the first pods of each kind take longer.
  for (const kind of ["without", "with"] as const) report(kind, await burst(bench, admin, kind));
  for (let round = 1; round <= rounds; round++) {
    console.log(`round ${round} of ${rounds}, ${pods} pods`);
    // The order alternates, to balance effects of the first on the second.
    for (const kind of round % 2 ? (["without", "with"] as const) : (["with", "without"] as const)) {
      const one = await burst(bench, admin, kind);
      bursts[kind].push(one);
      report(kind, one);
    }
  }
  const of = (kind: Kind, figure: (one: Burst) => number) => median(bursts[kind].map(figure));
  const compare = (what: string, figure: (one: Burst) => number, most: number) =>
    checkRatio(what, of("with", figure), of("without", figure), most);
  const results = [
    compare("last of the burst", ({ times }) => times.at(-1)!, limit),
    compare("median of the burst", ({ times }) => median(times), limit),
  ];
  if (results.includes(false)) process.exitCode = 1;
} finally {
  await bench.destroy();
  await api.destroy();
}
