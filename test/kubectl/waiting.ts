import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kubectl, RunningKubectl } from "./kubectl.ts";
import { describeInNamespace, type KubectlSetup } from "./kubectl-suite.ts";
import { pod, podThatPrints, run } from "./pods.ts";

/** kubectl wait, and get -w. */
export function waiting(setup: KubectlSetup): void {
  describeInNamespace(setup, "waiting", (kubectl) => {
    test("wait ends when a condition is true, a field has a value, or an object exists or was deleted", async () => {
      const k = kubectl();
      const there = k.start(["wait", "--for=create", "pod/late", "--timeout=60s"]);
      await k.ok(["create", "-f", "-"], { input: pod("late") });
      assert.equal(await there.exited, 0, there.stderr);
      assert.equal(
        await k.ok(["wait", "--for=condition=Ready", "pod/late", "--timeout=60s"]),
        "pod/late condition met\n",
      );
      assert.equal(
        await k.ok(["wait", "--for=jsonpath={.status.phase}=Running", "pod/late"]),
        "pod/late condition met\n",
      );
      const gone = k.start(["wait", "--for=delete", "pod/late", "--timeout=60s"]);
      await k.ok(["delete", "pod", "late", "--wait=false"]);
      assert.equal(await gone.exited, 0, gone.stderr);
      assert.match(await k.fails(["get", "pod", "late"]), /NotFound/);
    });

    test("wait waits for all pods, or those with a label", async () => {
      const k = kubectl();
      await run(k, pod("one", { labels: { a: "1" } }), pod("two"));
      assert.equal(
        await k.ok(["wait", "--for=condition=Ready", "pod", "--all"]),
        "pod/one condition met\npod/two condition met\n",
      );
      assert.equal(
        await k.ok(["wait", "--for=condition=Ready", "pod", "-l", "a=1"]),
        "pod/one condition met\n",
      );
    });

    test("wait times out, and names what it waited for", async () => {
      const k = kubectl();
      await k.ok(["create", "configmap", "never"]);
      const never = ["wait", "--for=jsonpath={.data.a}=1", "configmap/never", "--timeout=1s"];
      assert.match(await k.fails(never), /timed out waiting for the condition on configmaps\/never/);
      assert.match(
        await k.fails(["wait", "--for=condition=Ready", "pod/none", "--timeout=1s"]),
        /pods "none" not found/,
      );
    });

    test("get -w --output-watch-events shows the lifecycle of a pod in order", async () => {
      const k = kubectl();
      const labels = { watched: "yes" };
      const watched = await watchFrom(k, labels, ["--output-watch-events", "-o", "wide"]);
      await run(k, pod("seen", { labels }));
      await k.ok(["delete", "pod", "seen"]);
      await watched.prints(/^DELETED +seen/m);
      await watched.stop();
      const lines = linesOf(watched, /^\S+ +seen /);
      const events = lines.map(([event]) => event);
      assert.deepEqual(steps(events), ["ADDED", "MODIFIED", "DELETED"], watched.stdout);
      const states = steps(lines.map(([, , , status, , , , node]) => `${status} ${node}`));
      inOrder(states, [
        "Pending <none>",
        `Pending ${setup.nodeName}`,
        `ContainerCreating ${setup.nodeName}`,
        `Running ${setup.nodeName}`,
        `Terminating ${setup.nodeName}`,
        `Completed ${setup.nodeName}`,
      ]);
      for (const state of ["Pending <none>", `Running ${setup.nodeName}`, `Terminating ${setup.nodeName}`])
        assert.ok(states.includes(state), watched.stdout);
    });

    test("get -w appends rows to its table", async () => {
      const k = kubectl();
      const labels = { table: "grows" };
      const watched = await watchFrom(k, labels, []);
      await k.ok(["create", "-f", "-"], { input: podThatPrints("ends", "exit 0", { labels }) });
      await watched.prints(/^ends +0\/1 +Completed/m);
      await watched.stop();
      const statuses = steps(linesOf(watched, /^ends /).map(([, , status]) => status));
      inOrder(statuses, ["Pending", "ContainerCreating", "Running", "Completed"]);
      assert.deepEqual([statuses[0], statuses.at(-1)], ["Pending", "Completed"]);
    });

    test("get -w -o jsonpath prints each change of one object", async () => {
      const k = kubectl();
      await k.ok(["create", "configmap", "counted", "--from-literal=n=0"]);
      const watched = k.start(["get", "configmap", "counted", "-w", "-o", "jsonpath={.data.n},"]);
      await watched.prints(/0,/);
      for (let n = 1; n <= 5; n++)
        await k.ok(["patch", "configmap", "counted", "-p", `{"data":{"n":"${n}"}}`]);
      await watched.prints(/5,/);
      await watched.stop();
      assert.equal(watched.stdout, "0,1,2,3,4,5,");
    });
  });
}

/**
 * Starts a watch of pods with these labels. It has already printed one pod, so it shows the whole lifecycle of the next one.
 */
async function watchFrom(
  k: Kubectl,
  labels: Record<string, string>,
  more: readonly string[],
): Promise<RunningKubectl> {
  const [[key, value] = []] = Object.entries(labels);
  await k.ok(["create", "-f", "-"], { input: pod(`first-${key}`, { labels }) });
  const watched = k.start(["get", "pods", "-w", "-l", `${key}=${value}`, ...more]);
  await watched.prints(/first-/);
  return watched;
}

function linesOf(watched: RunningKubectl, which: RegExp): string[][] {
  return watched.lines.filter((line) => which.test(line)).map((line) => line.split(/ +/));
}

/** Removes repeated states. */
function steps(all: readonly (string | undefined)[]): (string | undefined)[] {
  return all.filter((one, i) => one !== all[i - 1]);
}

/** Some states may be too short to be observed, but their order must be right. */
function inOrder(states: readonly (string | undefined)[], order: readonly string[]): void {
  assert.deepEqual(
    states,
    order.filter((one) => states.includes(one)),
  );
}
