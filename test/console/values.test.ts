import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Locator, Page } from "playwright-core";
import { formatBytes } from "../../src/console/page/state/format.ts";
import { resourceFormat } from "../../src/console/page/state/resources.ts";
import { amount } from "../../src/console/views/amounts.ts";
import type { Summary } from "../../src/lib/model/stats-summary.ts";
import { cli } from "../e2e/cli-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { Kubectl, kubectlAvailable } from "../kubectl/kubectl.ts";
import { UpNode } from "../kubectl/up-node.ts";
import { long } from "../long.ts";
import { timeoutFactor } from "../timeout-factor.ts";
import { browserUnavailable, launchBrowser, type OpenedPage, openPage } from "./browser.ts";

const kubectlMissing = kubectlAvailable("1.36");
const reason = browserUnavailable || (kubectlMissing === true ? false : kubectlMissing);

const textOf = async (locator: Locator) => (await locator.textContent()) ?? "";

/** Uses CPU, memory, disk and, while it is read, the network, all evenly. */
const script = `mkdir -p /tmp/www
echo ready > /tmp/www/index.html
dd if=/dev/zero of=/tmp/www/file bs=1k count=200
dd if=/dev/zero of=/tmp/disk bs=1M count=24
dd if=/dev/zero of=/dev/shm/memory bs=1M count=32
httpd -p 8080 -h /tmp/www
while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; sleep 0.1; done`;

const container = { name: "main", image: "localhost/kubelet-ts/demo:1", imagePullPolicy: "Never" };
const pod = (name: string, main: object, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { terminationGracePeriodSeconds: 1, containers: [{ ...container, ...main }], ...spec },
});
const pods = [
  pod(
    "busy",
    {
      command: ["sh", "-c", script],
      resources: {
        requests: { cpu: "120m", memory: "48Mi", "ephemeral-storage": "64Mi" },
        limits: { memory: "96Mi" },
      },
      readinessProbe: { httpGet: { port: 8080, path: "/index.html" }, periodSeconds: 1 },
    },
    { initContainers: [{ ...container, name: "prepare", command: ["sleep", "2"] }] },
  ),
  pod("crash", { command: ["false"] }),
  pod("done", { command: ["true"] }, { restartPolicy: "Never" }),
  pod("pending", { image: "localhost/none:1" }),
];

/** The number of a text such as "34.9 MiB", "120m", "1.25". */
function numberIn(text: string): number {
  const [, digits, unit = ""] = /([\d.]+)\s?(m|[KMGT]?i?B)?/.exec(text) ?? [];
  const units: Record<string, number> = { "": 1, m: 0.001, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };
  return Number(digits) * (units[unit] ?? Number.NaN);
}

/** The seconds of kubectl's AGE, which the page uses as well. */
function secondsOf(age: string): number {
  const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };
  return [...age.matchAll(/(\d+)([smhd])/g)].reduce((sum, [, n, unit]) => sum + Number(n) * units[unit!]!, 0);
}

interface Step {
  readonly step: string;
  readonly container: string;
  /** Seconds since the epoch. */
  readonly from: number;
  readonly to: number | undefined;
  readonly duration: string;
  readonly attempts: number;
}

describe(long("values of the console page"), { skip: reason }, () => {
  let node: UpNode;
  let browser: Browser;
  let opened: OpenedPage;
  let page: Page;
  let kubectl: Kubectl;
  let nodeName = "";
  const traffic = new AbortController();

  before(async () => {
    node = await UpNode.start("2.x", "-values");
    kubectl = new Kubectl("1.36", node.kubeconfig);
    nodeName = (await kubectl.json(["get", "nodes"])).items[0].metadata.name;
    browser = await launchBrowser();
    opened = await openPage(browser, { timezoneId: "UTC" });
    page = opened.page;
    await page.goto(node.consoleLink);
    await kubectl.ok(["apply", "-f", "-"], { input: { apiVersion: "v1", kind: "List", items: pods } });
    await kubectl.ok(["wait", "--for=condition=Ready", "pod/busy", "--timeout=60s"]);
    const { status } = await kubectl.json(["get", "pod", "busy"]);
    void (async () => {
      while (!traffic.signal.aborted) {
        await fetch(`http://${status.podIP}:8080/file`).then((r) => r.arrayBuffer());
        await sleep(100);
      }
    })().catch(() => {});
  });
  after(async () => {
    traffic.abort();
    await browser?.close();
    await node?.stop();
    assert.deepEqual(opened?.errors, []);
  });

  const show = async (hash: string) => {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
  };
  const summary = async (): Promise<Summary> =>
    JSON.parse(await kubectl.ok(["get", "--raw", `/api/v1/nodes/${nodeName}/proxy/stats/summary`]));

  test("each column of the pod list is that of kubectl get pods", async () => {
    await show("#/pods");
    const rows = async () => {
      const texts = await page.locator(".viewport [role=row]").all();
      const cells = await Promise.all(texts.map((row) => row.getByRole("cell").allTextContents()));
      return new Map(cells.map(([name, namespace, ...rest]) => [`${namespace}/${name}`, rest]));
    };
    await waitFor(async () => {
      const shownBefore = await rows();
      const lines = (await kubectl.ok(["get", "pods", "-A", "--no-headers"])).trim().split("\n");
      const shown = await rows();
      assert.equal(shown.size, pods.length + 1);
      for (const line of lines) {
        const [namespace, name, ready, status, restarts] = line.split(/\s+/);
        const age = line.split(/\s+/).at(-1)!;
        const [shownStatus, shownReady, shownRestarts, shownAge = ""] =
          shown.get(`${namespace}/${name}`) ?? [];
        assert.deepEqual([shownStatus, shownReady, shownRestarts], [status, ready, restarts], line);
        const [least, most] = [shownBefore.get(`${namespace}/${name}`)?.[3] ?? "", shownAge].map(secondsOf);
        // The page shows the age once a second.
        const seconds = secondsOf(age);
        assert.ok(
          least! - 2 <= seconds && seconds <= most! + 2 * timeoutFactor,
          `${line}: ${least} to ${most}`,
        );
      }
      assert.ok(
        lines.some((line) => /crash\s+0\/1\s+\S+\s+[1-9]/.test(line)),
        "no restart yet",
      );
    }, 60_000);
  });

  test("the bars of the node have the values of kubectl describe node", async () => {
    await show("#/");
    await waitFor(async () => {
      const text = await kubectl.ok(["describe", "node", nodeName]);
      const part = (title: string) => new RegExp(`^${title}:\\n((?: +.*\\n)+)`, "m").exec(text)?.[1] ?? "";
      const value = (title: string, name: string) =>
        new RegExp(`^ +${name}:? +(\\S+)`, "m").exec(part(title))?.[1];
      const meters = await page.locator(".card[aria-label=Resources] .meter").all();
      const shown = new Map<string, string>();
      for (const meter of meters) {
        const [name = "", values = ""] = await meter.locator(".labels > span").allTextContents();
        shown.set(name, values);
      }
      for (const name of ["cpu", "memory", "ephemeral-storage"]) {
        const format = (of: string | undefined) => resourceFormat(name)(amount(of));
        const expected = [
          `${format(value("Allocated resources", name))} requested`,
          `${format(value("Allocatable", name))} allocatable`,
          `${format(value("Capacity", name))} capacity`,
        ];
        assert.deepEqual(shown.get(name)?.split(" · ").slice(-3), expected, name);
      }
      const running = /^Non-terminated Pods: +\((\d+) in total\)/m.exec(text)?.[1];
      const [all, most] = [value("Allocatable", "pods"), value("Capacity", "pods")];
      assert.equal(shown.get("pods"), `${running} running · ${all} allocatable · ${most} capacity`);
    });
  });

  test("the conditions of the node are those of kubectl", async () => {
    await show("#/");
    await waitFor(async () => {
      const { items } = await kubectl.json(["get", "nodes"]);
      const rows = await page.locator(".card[aria-label=Conditions] tbody tr").all();
      const shown = await Promise.all(rows.map((row) => row.getByRole("cell").allTextContents()));
      const expected = items[0].status.conditions.map((c: Record<string, string>) => [
        c.type,
        c.status,
        c.reason,
      ]);
      const lines = (of: string[][]) => new Set(of.map((line) => line.slice(0, 3).join(" ")));
      assert.deepEqual(lines(shown), lines(expected));
    });
  });

  type Values = Record<"cpu" | "memory" | "disk" | "rx" | "tx", number>;

  /** The newest values that the charts show. */
  const shownValues = async (): Promise<Values> => {
    const now = (title: string) => textOf(page.locator(`.card[aria-label="${title}"] .chart-now`));
    const [, rx = "", tx = ""] = /received ([\d.]+ \w+).*sent ([\d.]+ \w+)/.exec(await now("Network")) ?? [];
    return {
      cpu: numberIn(await now("CPU (cores)")),
      memory: numberIn(await now("Memory")),
      disk: numberIn(await now("Disk")),
      rx: numberIn(rx),
      tx: numberIn(tx),
    };
  };

  const reported = ({ node: all, pods: list }: Summary, name: string | undefined) => {
    const one = name === undefined ? undefined : list.find(({ podRef }) => podRef.name === name);
    const { cpu, memory, network } = one ?? all;
    const disk = one ? one["ephemeral-storage"]?.usedBytes : all.fs?.usedBytes;
    return {
      at: Date.parse(cpu!.time),
      cpu: cpu!.usageNanoCores! / 1e9,
      cpuSeconds: cpu!.usageCoreNanoSeconds! / 1e9,
      memory: memory!.workingSetBytes!,
      disk: disk!,
      rx: network!.rxBytes!,
      tx: network!.txBytes!,
    };
  };

  for (const [what, hash, name] of [
    ["the node", "#/", undefined],
    ["a pod", "#/pods/default/busy", "busy"],
  ] as const)
    test(`the charts of ${what} have the values of /stats/summary`, async (t) => {
      await show(hash);
      // The first rate of network traffic needs two samples with the network, 15 s apart.
      await waitFor(async () => assert.ok(Object.values(await shownValues()).every((v) => v >= 0)), 60_000);
      const samples: { shown: Values; is: ReturnType<typeof reported> }[] = [];
      while (samples.length < 35) {
        samples.push({ shown: await shownValues(), is: reported(await summary(), name) });
        await sleep(1000);
      }
      const [first, last] = [samples[0]!.is, samples.at(-1)!.is];
      const seconds = (last.at - first.at) / 1000;
      const mean = (of: keyof Values) =>
        samples.reduce((sum, { shown }) => sum + shown[of], 0) / samples.length;
      const check = (of: keyof Values, is: number, share: number, least = 0) => {
        const off = Math.abs(mean(of) - is);
        const text = `${of}: ${mean(of)} shown, ${is} in /stats/summary`;
        t.diagnostic(text);
        assert.ok(off <= Math.max(is * share, least), text);
      };
      // Rates against the difference of counters; a sample may be 15 s older.
      check("cpu", (last.cpuSeconds - first.cpuSeconds) / seconds, 0.5, 0.01);
      check("rx", (last.rx - first.rx) / seconds, 0.5, 2048);
      check("tx", (last.tx - first.tx) / seconds, 0.5, 2048);
      const middle = (of: "memory" | "disk") =>
        samples.reduce((sum, { is }) => sum + is[of], 0) / samples.length;
      // Other processes of the machine use the memory of the node, too.
      check("memory", middle("memory"), name === undefined ? 0.2 : 0.02);
      check("disk", middle("disk"), name === undefined ? 0.05 : 0.02);
    });

  test("the memory of a container is that of /stats/summary, and its limit that of kubectl", async () => {
    await show("#/pods/default/busy");
    await waitFor(async () => {
      const card = page.getByRole("article", { name: "Container main" });
      const text = await textOf(card.locator(".meter").nth(1).locator(".labels > span").last());
      const stats = (await summary()).pods.find(({ podRef }) => podRef.name === "busy")?.containers[0];
      const [shown = "", requested, limit] = text.split(" · ");
      assert.deepEqual([requested, limit], [`${formatBytes(48 * 2 ** 20)} requested`, "limit 96.0 MiB"]);
      const bytes = stats?.memory?.workingSetBytes ?? 0;
      assert.ok(Math.abs(numberIn(shown) - bytes) < bytes * 0.02, `${shown}: ${bytes}`);
    });
  });

  const seconds = (text: string) => Date.parse(text) / 1000;

  async function timelineOf(name: string): Promise<{ steps: Step[]; status: PodStatus; events: Event[] }> {
    await show(`#/pods/default/${name}`);
    await page.locator(".heading").getByText(name, { exact: true }).waitFor();
    await page.locator('[data-step="sandbox"]').waitFor();
    const items = await page.locator(".timeline li").all();
    const object = await kubectl.json(["get", "pod", name]);
    const day = String(object.status.startTime).slice(0, 10);
    const time = (text: string | undefined) => (text === undefined ? undefined : seconds(`${day}T${text}Z`));
    const steps = await Promise.all(
      items.map(async (item): Promise<Step> => {
        const title = (await item.getAttribute("title")) ?? "";
        const [, since, from = since, to] =
          /, (?:since (\S+)|(\S+) to (\S+))$/.exec(title) ?? assert.fail(title);
        return {
          step: (await item.getAttribute("data-step")) ?? "",
          container: (await item.locator(".label .muted").allTextContents()).join("").trim(),
          from: time(from)!,
          to: time(to),
          duration: await textOf(item.locator(".number")),
          attempts: Number(await item.getAttribute("data-attempts")),
        };
      }),
    );
    const selector = `involvedObject.name=${name}`;
    const { items: events } = await kubectl.json(["get", "events", "--field-selector", selector]);
    return { steps, status: object.status, events };
  }

  interface PodStatus {
    readonly startTime: string;
    readonly conditions: readonly { readonly type: string; readonly lastTransitionTime: string }[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses: readonly ContainerStatus[];
  }
  interface ContainerStatus {
    readonly restartCount: number;
    readonly state: Record<string, { readonly startedAt: string; readonly finishedAt: string }>;
    readonly lastState: Record<string, { readonly startedAt: string; readonly finishedAt: string }>;
  }
  interface Event {
    readonly reason: string;
    readonly firstTimestamp: string | null;
    readonly involvedObject: { readonly fieldPath?: string };
  }

  test("the steps of a start enclose the times of its status and events", async () => {
    const { steps, status, events } = await timelineOf("busy");
    const of = (step: string, name = "") =>
      steps.find((each) => each.step === step && each.container === name) ??
      assert.fail(`no ${step} ${name}`);
    const within = (what: string, text: string | null | undefined, from: number, to: number | undefined) => {
      const at = seconds(text ?? "");
      assert.ok(from <= at && at <= (to ?? Number.NaN), `${what} at ${text}: not within ${from} and ${to}`);
    };
    const [prepare, main, init] = [
      of("container", "prepare"),
      of("container", "main"),
      of("init", "prepare"),
    ];
    const condition = (type: string) => status.conditions.find((c) => c.type === type)?.lastTransitionTime;
    const created = seconds(status.startTime);
    for (const [index, { step, from, to }] of steps.entries()) {
      assert.ok(from >= created && (steps[index - 1]?.to ?? from) <= from, `${step} begins at ${from}`);
      assert.ok(to !== undefined && to >= from, `${step} ends at ${to}`);
    }
    within(
      "PodReadyToStartContainers",
      condition("PodReadyToStartContainers"),
      of("sandbox").from,
      main.from,
    );
    const [first] = status.initContainerStatuses ?? [];
    within("prepare started", first?.state.terminated?.startedAt, prepare.from, prepare.to);
    within("prepare finished", first?.state.terminated?.finishedAt, prepare.from, init.to);
    within("Initialized", condition("Initialized"), init.from, main.to);
    within("main started", status.containerStatuses[0]?.state.running?.startedAt, main.from, main.to);
    const readiness = of("readiness", "main");
    within("Ready", condition("Ready"), readiness.from, readiness.to! + 1);
    within("end of readiness", condition("Ready"), readiness.to! - 1, readiness.to! + timeoutFactor);
    for (const [name, path] of [
      ["prepare", "spec.initContainers{prepare}"],
      ["main", "spec.containers{main}"],
    ] as const) {
      const event = (which: string) =>
        events.find((e) => e.reason === which && e.involvedObject.fieldPath === path)?.firstTimestamp;
      within(`Pulled ${name}`, event("Pulled"), of("image", name).from, of("container", name).to);
      within(`Created ${name}`, event("Created"), of("container", name).from, of("container", name).to);
      within(`Started ${name}`, event("Started"), of("container", name).from, of("container", name).to);
    }
    // An init container that sleeps for 2 s.
    assert.ok(numberIn(init.duration) >= 1 && init.to! - prepare.from >= 2, JSON.stringify(init));
  });

  test("the duration of a start is that of kubelet explain", async () => {
    await show("#/pods/default/busy");
    const took = await textOf(page.getByText(/^ready after/));
    const { stdout } = await cli(["explain", "busy", "--root-dir", node.files.kubelet], { env: process.env });
    const started = /started in ([\d.]+) s/.exec(stdout)?.[1];
    assert.equal(Number(/([\d.]+) s/.exec(took)?.[1]).toFixed(1), Number(started).toFixed(1), stdout);
  });

  test("each run of a container that crashes is an attempt of one step, and its back-offs are another step", async () => {
    await waitFor(async () => {
      const { steps, status } = await timelineOf("crash");
      const [main] = status.containerStatuses;
      const runs = steps.filter(({ step }) => step === "container");
      assert.equal(runs.length, 1);
      const run = runs[0]!;
      assert.equal(run.attempts, main!.restartCount + 1);
      const last = main!.lastState.terminated!;
      const start = seconds(last.startedAt);
      assert.ok(run.from <= start && start <= run.to!, `${last.startedAt} ${JSON.stringify(run)}`);
      const waits = steps.at(-1)!;
      assert.deepEqual([waits.step, waits.to], ["backoff", undefined]);
      // An event in the middle of a back-off begins another step of it.
      assert.ok(waits.attempts >= main!.restartCount, `${waits.attempts} of ${main!.restartCount}`);
    }, 60_000);
  });
});
