import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { PodRow } from "../../src/kubelet/explain/pod-overview.ts";
import type { Container, Pod } from "../../src/lib/model/pod.ts";
import { manifest, writeManifest } from "../e2e/manifests.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { describeOnContainerd } from "../node/on-containerd.ts";
import { nodeName } from "./cluster-node.ts";
import { NodeWithApi } from "./node-with-api.ts";

/** Longer than the back-off after two restarts. */
const outageMs = Number(process.env.OUTAGE_SECONDS ?? 20) * 1000;
/** The API must be up to date this long after the outage. */
const caughtUpMs = 5000;
/** A heartbeat that was in progress may succeed after the outage; its renewal time is at most this old. */
const requestMs = 10_000;

type Probe = NonNullable<Container["readinessProbe"]>;

const missingFile = (path: string): Probe => ({
  exec: { command: ["sh", "-c", `test ! -e ${path}`] },
  periodSeconds: 1,
  failureThreshold: 1,
  timeoutSeconds: 5,
});
const restartsOf = ({ status }: Pod) => status?.containerStatuses?.[0]?.restartCount;
const isReady = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === "Ready")?.status;

describeOnContainerd(`an API outage of ${outageMs / 1000} s`, (version) => {
  let apiNode: NodeWithApi;

  before(async () => {
    apiNode = await NodeWithApi.start(version);
    await apiNode.addPod("steady");
    await apiNode.addPod("crashes");
    await apiNode.addPod("probed", { readinessProbe: missingFile("/tmp/fail") });
    await apiNode.addPod("lively", { livenessProbe: missingFile("/tmp/fail") });
    for (const name of ["steady", "crashes", "probed", "lively"]) await apiNode.runs(name);
  });

  after(async () => {
    await apiNode?.destroy();
  });

  const row = async (name: string): Promise<PodRow> => {
    const found = (await apiNode.agent.pods())?.find((pod) => pod.name === name);
    assert.ok(found, `no pod ${name}`);
    return found;
  };
  const inside = async (name: string, command: string) => {
    const [container] = await apiNode.containersOf(name);
    await apiNode.runtime.execSync(container!.id, ["sh", "-c", command], 10);
  };

  let outages = 0;
  const outage = async (
    t: { diagnostic(text: string): void },
    api: { stop: () => unknown; resume: () => unknown; respondsLate?: boolean },
  ) => {
    const restarts = ++outages;
    const steady = await apiNode.containersOf("steady");
    const lastRenewal = await apiNode.renewedAt();
    await api.stop();
    const outageEnd = Date.now() + outageMs;
    await inside("crashes", "kill -TERM 1");
    await inside("lively", "touch /tmp/fail");
    await inside("probed", restarts % 2 ? "touch /tmp/fail" : "rm /tmp/fail");
    const [ready, readiness] = restarts % 2 ? ["0/1", "False"] : ["1/1", "True"];
    writeManifest(apiNode.node.manifests, `s${restarts}.yaml`, manifest({ name: `s${restarts}` }));
    await waitFor(async () => {
      for (const name of ["crashes", "lively"]) {
        const { restarts: reported, ready } = await row(name);
        assert.deepEqual([name, reported, ready], [name, restarts, "1/1"]);
      }
      assert.equal((await row("probed")).ready, ready);
      assert.equal((await row(`s${restarts}-${nodeName}`)).phase, "Running");
    }, outageMs - 1000);
    await pause(outageEnd - Date.now());
    await api.resume();
    await waitFor(() => apiNode.get("/version"));
    const backAt = Date.now();
    const times: string[] = [];
    const caughtUp = async (what: string, check: () => Promise<void>, withinMs = caughtUpMs) => {
      await waitFor(check, withinMs);
      times.push(`${what} ${Date.now() - backAt} ms`);
    };
    const podIs = (name: string, check: (pod: Pod) => void) => async () => check(await apiNode.pod(name));
    await apiNode.addPod(`new-${restarts}`);
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
        const renewedAt = await apiNode.renewedAt();
        assert.ok(renewedAt > lastRenewal && renewedAt >= backAt - (api.respondsLate ? requestMs : 0));
      }),
      caughtUp(
        "mirror",
        podIs(`s${restarts}-${nodeName}`, (pod) => assert.equal(isReady(pod), "True")),
      ),
      caughtUp(
        "new pod accepted",
        podIs(`new-${restarts}`, (pod) => assert.ok(pod.status?.startTime)),
      ),
      caughtUp(
        "new pod runs",
        podIs(`new-${restarts}`, (pod) => assert.equal(isReady(pod), "True")),
        30_000,
      ),
    ]).finally(() => t.diagnostic(times.join(", ")));
    assert.deepEqual(await apiNode.containersOf("steady"), steady);
    assert.equal(restartsOf(await apiNode.pod("steady")), 0);
  };

  test("by a kill does not affect pods: they run, are restarted and probed, and the API is updated afterwards", async (t) => {
    await outage(t, {
      stop: () => apiNode.api.kill(),
      resume: () => apiNode.api.start(),
    });
  });

  test("by a server that accepts connections and does not respond does not affect pods either", async (t) => {
    await outage(t, {
      stop: () => apiNode.api.signal("SIGSTOP"),
      resume: () => apiNode.api.signal("SIGCONT"),
      respondsLate: true,
    });
  });
});
