import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { PodRow } from "../../src/kubelet/agent/pod-overview.ts";
import type { Container, Pod } from "../../src/lib/model/pod.ts";
import { manifest, place } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { nodeName } from "./cluster-node.ts";
import { NodeWithApi } from "./node-with-api.ts";

/** Longer than the back-off after two restarts. */
const outageMs = Number(process.env.OUTAGE_SECONDS ?? 20) * 1000;
/** By then the API is up to date. */
const caughtUpMs = 5000;
/** A heartbeat in progress may still get a response, with the time when it was sent: not longer ago than this. */
const requestMs = 10_000;

type Probe = NonNullable<Container["readinessProbe"]>;

const absent = (path: string): Probe => ({
  exec: { command: ["sh", "-c", `test ! -e ${path}`] },
  ...{ periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 5 },
});
const restartsOf = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount;
const isReady = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === "Ready")?.status;

describeOnContainerd(`the API unavailable for ${outageMs / 1000} s`, (version) => {
  let fullNode: NodeWithApi;

  before(async () => {
    fullNode = await NodeWithApi.start(version);
    await fullNode.addPod("steady");
    await fullNode.addPod("crashes");
    await fullNode.addPod("probed", { readinessProbe: absent("/tmp/away") });
    await fullNode.addPod("lively", { livenessProbe: absent("/tmp/away") });
    for (const name of ["steady", "crashes", "probed", "lively"]) await fullNode.runs(name);
  });

  after(async () => {
    await fullNode?.destroy();
  });

  const row = async (name: string): Promise<PodRow> => {
    const found = (await fullNode.agent.pods())?.find((pod) => pod.name === name);
    assert.ok(found, `no pod ${name}`);
    return found;
  };
  const inside = async (name: string, command: string) => {
    const [container] = await fullNode.containersOf(name);
    await fullNode.runtime.execSync(container!.id, ["sh", "-c", command], 10);
  };

  let outages = 0;
  const outage = async (
    t: { diagnostic(text: string): void },
    api: { leave: () => unknown; comeBack: () => unknown; answersLate?: boolean },
  ) => {
    const restarts = ++outages;
    const steady = await fullNode.containersOf("steady");
    const lastRenewal = await fullNode.renewedAt();
    await api.leave();
    const awayUntil = Date.now() + outageMs;
    await inside("crashes", "kill -TERM 1");
    await inside("lively", "touch /tmp/away");
    await inside("probed", restarts % 2 ? "touch /tmp/away" : "rm /tmp/away");
    const [ready, readiness] = restarts % 2 ? ["0/1", "False"] : ["1/1", "True"];
    place(fullNode.node.manifests, `s${restarts}.yaml`, manifest({ name: `s${restarts}` }));
    await waitFor(async () => {
      for (const name of ["crashes", "lively"]) {
        const { restarts: reported, ready } = await row(name);
        assert.deepEqual([name, reported, ready], [name, restarts, "1/1"]);
      }
      assert.equal((await row("probed")).ready, ready);
      assert.equal((await row(`s${restarts}-${nodeName}`)).phase, "Running");
    }, outageMs - 1000);
    await pause(awayUntil - Date.now());
    await api.comeBack();
    await waitFor(() => fullNode.get("/version"));
    const backAt = Date.now();
    const took: string[] = [];
    const caughtUp = async (what: string, check: () => Promise<void>, withinMs = caughtUpMs) => {
      await waitFor(check, withinMs);
      took.push(`${what} ${Date.now() - backAt} ms`);
    };
    const podIs = (name: string, check: (pod: Pod) => void) => async () => check(await fullNode.pod(name));
    await fullNode.addPod(`new-${restarts}`);
    await Promise.all([
      ...["crashes", "lively"].map((name) =>
        caughtUp(
          name,
          podIs(name, (pod) => {
            assert.equal(restartsOf(pod), restarts);
            assert.equal(isReady(pod), "True");
          }),
        ),
      ),
      caughtUp(
        "probed",
        podIs("probed", (pod) => assert.equal(isReady(pod), readiness)),
      ),
      caughtUp("lease", async () => {
        const renewedAt = await fullNode.renewedAt();
        assert.ok(renewedAt > lastRenewal && renewedAt >= backAt - (api.answersLate ? requestMs : 0));
      }),
      caughtUp(
        "mirror",
        podIs(`s${restarts}-${nodeName}`, (pod) => assert.equal(isReady(pod), "True")),
      ),
      caughtUp(
        "new pod seen",
        podIs(`new-${restarts}`, (pod) => assert.ok(pod.status?.startTime)),
      ),
      caughtUp(
        "new pod runs",
        podIs(`new-${restarts}`, (pod) => assert.equal(isReady(pod), "True")),
        30_000,
      ),
    ]).finally(() => t.diagnostic(took.join(", ")));
    assert.deepEqual(await fullNode.containersOf("steady"), steady);
    assert.equal(restartsOf(await fullNode.pod("steady")), 0);
  };

  test("killed and started again: pods keep running, are restarted and probed, and the API is updated immediately", async (t) => {
    await outage(t, {
      leave: () => fullNode.api.kill(),
      comeBack: () => fullNode.api.start(),
    });
  });

  test("connected but not responding: the same", async (t) => {
    await outage(t, {
      leave: () => fullNode.api.signal("SIGSTOP"),
      comeBack: () => fullNode.api.signal("SIGCONT"),
      answersLate: true,
    });
  });
});
